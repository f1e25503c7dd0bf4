"""Whether a table holds together: what its timeline says held against what lies on storage.

The noun is Finding. What must be there is decided from values; files are opened by
``fileslice/checks.py``, as readers do. Nothing here changes a table.
"""
