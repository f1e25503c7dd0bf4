"""Read-only watchers of a table's timeline.

They import neither Spark nor pyarrow until a task runs.
"""
