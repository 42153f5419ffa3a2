"""Rolecall: who has access to what, why, and who said so."""
