"""Webhooks: triggers write deliveries, `outbox.py` claims them, `sender.py` and `outgoing.py` send them."""
