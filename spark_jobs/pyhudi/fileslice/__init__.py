"""A file slice is read here, and here alone: its base file, its log files, and both merged to rows.

The nouns are OpenBaseFile (``opener``, the one door to base files, wherever their bytes lie),
LogRecords of a slice (``logs``), SliceReading (``reading``: which blocks count, by which rule they
are merged) and OpenSlice (``reader``), whose rows queries, lookups and compactions take alike.
"""
