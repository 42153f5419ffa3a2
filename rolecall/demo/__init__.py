"""Create a sample company with a year of history, using the actions of the service.

Only dates, ids and secrets differ between runs.
"""
