"""Connections to where tables lie.

The main noun is PyhudiHook: it reads a table's timeline, and never writes.
"""
