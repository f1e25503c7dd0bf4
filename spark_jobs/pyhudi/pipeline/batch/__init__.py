"""The incoming batch, from its source to keyed pieces that are held.

Rows of a source become Arrow record batches, get their keys, and cross from task to task as binary
pieces. Nothing here knows the table's files.
"""
