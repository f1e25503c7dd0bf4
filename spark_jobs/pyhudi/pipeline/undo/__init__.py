"""Rollbacks, savepoints and restores, from request to result.

Each waits for its turn, refuses what cannot be done, and answers by what is on the timeline then.
"""
