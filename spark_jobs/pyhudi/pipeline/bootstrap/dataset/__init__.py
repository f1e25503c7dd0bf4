"""A dataset of plain files as it is found: its folders, footers, partitions and rows.

The main noun is Source (``source.py``). Nothing here writes.
"""
