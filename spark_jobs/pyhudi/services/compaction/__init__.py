"""Compactions and log compactions: which slices are due, the plan, and the run of it.

Plans are pure. What a task does with a slice is told it by ``job``; it is written by
``write.files``.
"""
