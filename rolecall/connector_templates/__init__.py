"""Connector templates: complete connectors for exports of well-known products, and those that people saved."""
