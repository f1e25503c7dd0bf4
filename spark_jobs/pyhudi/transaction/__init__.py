"""Begin, protect, complete.

The main noun is Transaction: one instant from requested to completed, with the heartbeat that
keeps others from rolling it back and the markers that let anyone do so once it is dead. The commit
point is one line in ``transaction.py``.
"""
