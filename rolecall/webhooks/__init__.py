"""Webhooks: a trigger writes deliveries, `outbox.py` claims them, `sender.py` and `outgoing.py` send them."""
