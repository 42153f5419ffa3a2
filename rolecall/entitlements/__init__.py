"""The catalogue: every group and permission of all applications, with fields that people curate."""
