"""Provide what all routes of the API share, such as authentication, bodies, errors and exports."""
