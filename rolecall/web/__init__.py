"""Code that all routes of the API share: authentication, bodies, errors, exports and the OpenAPI document."""
