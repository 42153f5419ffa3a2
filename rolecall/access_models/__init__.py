"""Access models: the access that people should have, by conditions on their fields.

Drafts are committed as versions.
"""
