"""What two who write a table at once may not both do. Pure.

The main noun is Change: what one instant does to file groups and partitions. The candidates are
the changes of others since this one began; a Conflict names one of them, and what both touch.
"""
