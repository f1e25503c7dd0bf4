"""Two versions of a record become one.

The merge modes, on Arrow columns: which row of a batch counts for its key, and whether an
incoming row replaces the stored one. Nothing here opens a file or knows a table.
"""
