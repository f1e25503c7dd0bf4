"""Histories of a table that many processes write at once, played in one thread from a seed."""
