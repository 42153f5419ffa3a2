"""Create the sample company with a year of history, through the actions of the service. Every run is identical."""
