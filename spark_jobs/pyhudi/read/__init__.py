"""Files to rows: what a query asks of a table, and the rows that answer it.

The main noun is ReadPlan: which files, row groups and columns answer a query. Planning chooses and
reads no data; execution reads what the plan names and chooses nothing. This package never writes.
"""
