"""Conflicts between duties of one person, and exceptions from them; `schema/duties.sql` finds the conflicts."""
