"""Partition paths that are made of times.

``pattern`` writes and ``reading`` reads dates by Java's patterns, ``zones`` knows the offsets, and
``timestamp_path`` is what a timestamp-based key generator makes of them.
"""
