"""Bloom filters over record keys, bit for bit as Hudi stores them in footers.

The noun is BloomFilter (``filter``); ``murmur`` is the hash that it stands on. Which keys go into
the filter of a file is not decided here.
"""
