"""What happened to a table, in order.

The main noun is Timeline: its instants, each an action at a time in a state. File names are read
and made in ``layout.py``, instant files written in ``active.py``; ``clock.py`` is the only place
that asks what time it is. Nothing here reads what an instant's file says.
"""
