"""Taking completed writes back: rollback, savepoints, restore.

What did not complete is undone by ``services/rollback.py``, which these rest on.
"""
