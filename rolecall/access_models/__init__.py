"""Access models grant access to people who match conditions on their fields.

Drafts are committed as versions.
"""
