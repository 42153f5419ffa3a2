"""Duties and the rules that keep them apart; `schema/duties.sql` finds who is in conflict."""
