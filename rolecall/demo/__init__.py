"""The sample company: a year of history, created through the service's own actions, identical in every run."""
