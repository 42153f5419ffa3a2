"""Create a sample company with a year of history, using the actions of the service. Every run is identical."""
