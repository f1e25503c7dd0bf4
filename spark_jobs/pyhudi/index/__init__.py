"""From a record key to the file group that holds it.

An index decides which stored keys the incoming ones meet; it opens files in the storage it
is given and knows nothing of Spark, which distributes it.
"""
