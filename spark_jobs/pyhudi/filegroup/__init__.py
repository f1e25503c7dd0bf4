"""Which files belong together, and which of them make up the table.

The nouns are BaseFile, LogFile, FileSlice and FileGroup. ``view.py`` folds files and timeline into
the latest ones without touching storage, in the order that ``order.py`` gives; ``listing.py`` finds
the files.
"""
