"""The lock of a table: what writers hold for the moments in which they begin and commit.

A lock is a lease: whoever held it for too long may have lost it, and looks before a commit point.
"""
