"""Duties and the rules that keep them apart. `schema/duties.sql` finds the people in conflict."""
