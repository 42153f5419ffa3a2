"""Conflicts between the duties of one person, and exceptions for them. `schema/duties.sql` finds the conflicts."""
