"""Accounts, groups and permissions as imports show them: who holds what, and which identity an account belongs to.

Their rows are intervals between imports, so that every query also works for the past.
"""
