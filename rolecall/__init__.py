"""Rolecall: who has access to what, why, and who said so."""

__version__ = "0.1.0"
