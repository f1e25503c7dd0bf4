"""Records to files.

What a write does to which file is decided here from counts and sizes (profile, sizing, buckets:
pure), and done here one file at a time (create, merge). Nothing here knows Spark, and nothing here
completes an instant.
"""
