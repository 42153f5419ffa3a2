"""The lake: copy what Rolecall knows into Delta Lake tables, for questions that other engines answer."""
