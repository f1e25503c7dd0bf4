"""Object stores: S3 and what speaks it, Google Cloud Storage, Azure Blob Storage.

The main noun is ObjectStorage (``storage.py``), a Storage whose files are objects of a bucket and
whose folders are what their keys begin with. Requests are made in ``calls.py`` and
``arrow_calls.py`` and nowhere else; nothing here knows what a table is.
"""
