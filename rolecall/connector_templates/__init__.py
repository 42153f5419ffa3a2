"""Manage connector templates: connectors for exports of well-known products, and connectors that people saved."""
