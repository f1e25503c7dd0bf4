"""What a page shows of a table, as values: gathered from an open table, without a command line.

The nouns are Glance, what names and a few files tell, and Plan, what a service would do. What costs
a listing of all data files stands apart, so that a page can show the rest first.
"""
