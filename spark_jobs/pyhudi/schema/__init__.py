"""Avro and Arrow schemas, and how one becomes the other.

The nouns are schemas and what changes them: the meta columns, Avro names and types, a newer
version of a table's columns. Everything here is pure; nothing opens a path.
"""
