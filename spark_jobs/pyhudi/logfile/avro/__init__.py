"""Avro records in log blocks: to columns and back.

``columns`` decodes and ``encode`` encodes whole columns at once; ``rows`` is for the records that
need fastavro, one by one.
"""
