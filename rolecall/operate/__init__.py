"""Operate the service: health checks (`rolecall doctor`), metrics, backup and restore, and the schema dump."""
