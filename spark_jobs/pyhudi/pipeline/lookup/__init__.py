"""Where the keys of a batch are stored: the index's questions, spread over tasks.

The main noun is LookupResult (``result.py``), which the choice of file groups begins with.
"""
