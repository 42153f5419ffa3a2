"""Notifications: triggers write them, `routing.py` chooses channel and time, `outbox.py` and `sender.py` send them."""
