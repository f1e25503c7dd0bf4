"""What the triggerer runs for the sensors: asynchronous, with plain values for arguments.

They look at a table's timeline from a thread and never write.
"""
