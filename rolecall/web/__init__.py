"""Provide what all routes of the API share: authentication, bodies, errors, exports and the OpenAPI document."""
