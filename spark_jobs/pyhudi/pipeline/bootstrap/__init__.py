"""A table made of a dataset that is there: planned, taken over, committed.

The main noun is BootstrapPlan (``plan.py``), all that is decided before anything is written.
"""
