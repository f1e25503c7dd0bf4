"""Begin, protect, complete.

The main noun is InstantRun: one instant from requested to completed, with the heartbeat that keeps
others from rolling it back and the markers that let anyone do so once it is dead. What keeps others
out is an Exclusion. The commit point is one line in ``instant_run.py``.
"""
