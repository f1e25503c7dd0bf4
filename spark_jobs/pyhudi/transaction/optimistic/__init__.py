"""Writers that go on beside each other, and look for conflicts when they commit.

The main noun is Shared, an Exclusion that keeps nobody out. What the others did is read here and
weighed in ``conflicts``.
"""
