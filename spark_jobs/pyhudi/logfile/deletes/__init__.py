"""Delete blocks: the keys that a write deletes, with their ordering values.

``blocks`` reads and writes their bytes, ``orderings`` compares their ordering values, ``new`` makes
the deletes of a write.
"""
