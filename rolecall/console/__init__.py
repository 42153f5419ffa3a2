"""Serve the console: HTML screens that call the same actions as the API.

`frame.py` serves every screen, `screens/` has one file per area, and `rendering.py` renders templates and navigation.
"""
