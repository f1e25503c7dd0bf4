"""One table, opened.

The main noun is Table: configuration, timeline, schema and files of a table as they were when it
was opened. Beside it stands what makes a table and keeps its properties; rows are read and written
elsewhere.
"""
