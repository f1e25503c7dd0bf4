"""Rows to files: ``plan`` decides which file every row goes to, ``files`` writes file by file.

The main noun is WriteContext, what every task of a write must know. Nothing here knows Spark, and
nothing here completes an instant.
"""
