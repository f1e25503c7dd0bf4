"""Writes and compactions from request to result, on whichever runner is given.

``write.py`` shows a write on one page, ``compaction.py`` a compaction. What is decided is decided
from values; what tasks do lies below, in ``write`` and ``index``. Nothing here knows Spark.
"""
