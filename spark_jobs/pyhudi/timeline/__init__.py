"""What happened to a table, in order.

The main noun is Timeline: its instants, each an action at a time in a state. An ActiveTimeline is
that of one table on storage, and reads and writes what instants say as the values of ``actions``.
File names are made in ``layout.py``; ``clock.py`` is the only place that asks what time it is.
"""
