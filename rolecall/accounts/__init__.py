"""Accounts, groups and permissions as imported: who holds what, and which identity an account belongs to.

Each row is valid for an interval of imports, so that every query also works for the past.
"""
