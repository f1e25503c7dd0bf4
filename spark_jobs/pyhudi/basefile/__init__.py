"""Base files: columnar files whose footer holds Hudi's bloom filter, range of keys and Avro schema.

The nouns are BaseFileReader (``open``) and BaseFileWriter (``writer``), for Parquet and ORC alike.
They take an open file and never a path; which file to read or write is decided elsewhere.
"""
