"""Record keys and partition paths: columns of a batch to text, and back.

Everything here is a pure function of Arrow arrays or numpy vectors. ``generators`` is the entry
point of the write path; ``record_key`` and ``partition_path`` hold the two text formats,
``java_text`` how a single value is formatted, ``key_positions`` the search for keys among others,
and ``key_hash`` the hash by which keys are spread over tasks.
"""
