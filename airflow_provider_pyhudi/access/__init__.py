"""How a task reaches the storage of its table: connections of clouds, and keys that end.

The main noun is StorageAccess: what a connection says, as options of a storage. Nothing here is
read before a task runs.
"""
