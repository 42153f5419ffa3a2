"""The settings of the service, and the approval policy."""
