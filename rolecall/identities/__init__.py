"""Identities. `authority.py` decides who may do what; `core/roles.py` defines the scopes of roles."""
