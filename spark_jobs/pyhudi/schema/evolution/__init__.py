"""Rows of one schema in another: which changes are allowed, and how values are converted.

``writer_schema`` decides what a write leaves as the table's schema; ``reconcile`` brings rows
to it.
"""
