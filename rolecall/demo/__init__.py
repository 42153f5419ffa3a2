"""The sample company: one month of history, created through the service's own actions, identical in every run."""
