"""Rolecall, an access governance service: it records who has access to what, why, and who approved it."""

__version__ = "0.1.0"
