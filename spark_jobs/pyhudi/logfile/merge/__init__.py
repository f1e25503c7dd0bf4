"""The blocks of a file slice become one record a key.

The main noun is LogRecords (``records``). What memory has no room for goes to a ``row_file``;
``rows`` lays the records over the rows of the base file.
"""
