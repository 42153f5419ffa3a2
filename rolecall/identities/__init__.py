"""People: `authority.py` decides who may do what; the scopes of roles are in `core/roles.py`."""
