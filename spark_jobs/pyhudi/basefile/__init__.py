"""Columnar files with Hudi's footer: rows, bloom filter, range of keys, Avro schema.

The noun is the base file. Readers and writers take an open file and never a path; which file to
read or write is decided elsewhere.
"""
