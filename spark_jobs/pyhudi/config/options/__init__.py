"""Hudi's options by subject: their declarations, and the values that they become.

One module a subject. A declaration says key, default and meaning once; the frozen value beside it
is what the rest of the engine is given.
"""
