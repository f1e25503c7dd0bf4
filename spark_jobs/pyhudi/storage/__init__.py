"""Bytes at a path.

The main noun is Storage: one table's folder on some file system, every path relative to it. This
package is the only one that talks to a file system; it knows nothing of Hudi.
"""
