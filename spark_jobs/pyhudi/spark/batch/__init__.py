"""The incoming batch, from its source to keyed pieces that Spark keeps.

A batch is a DataFrame or files that tasks read themselves; its rows become Arrow record batches,
get their keys, and cross from task to task as binary pieces. Nothing here knows the table's files.
"""
