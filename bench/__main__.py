"""All benchmarks, or those that are named: `python -m bench http lists`."""

import subprocess
import sys

# Each is a module of this package that can be run by itself; the rivals are run by `http`.
NAMES = ["audit", "http", "imports", "lists", "webhooks", "workflow"]


def main() -> None:
    names = sys.argv[1:] or NAMES
    if unknown := set(names) - set(NAMES):
        sys.exit(f"No benchmark is named {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    failed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode:
            failed.append(name)
    sys.exit(f"Below its bar: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
