from rolecall.cli import main

main()
