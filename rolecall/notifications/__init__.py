"""Notify people by e-mail, in chats and in the console.

SQL functions write the notifications, `routing.py` chooses their channel and time, and `outbox.py` and `sender.py` send
them.
"""
