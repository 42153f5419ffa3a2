"""Personnel events: a person joins, moves, goes on leave or departs.

`situations.py` and `planning.py` plan the access requests, `stages.py` advances an event, and `effects.py` contains
what happens when a stage opens.
"""
