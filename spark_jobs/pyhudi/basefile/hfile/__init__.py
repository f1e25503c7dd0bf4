"""HFile, the sorted key-value file of HBase, in which Hudi keeps indexes and some log blocks.

``reader`` takes bytes and gives entries, ``writer`` the reverse; checksums are ``crc32c``.
"""
