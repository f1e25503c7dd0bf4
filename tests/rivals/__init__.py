"""Real processes that write one table at once, what befalls them, and a checker of what they said.

`python -m tests.rivals --writers 8 --minutes 10 --storage s3` runs them and prints what came of it.
"""
