"""Log files: blocks of rows, deletes and commands that change the rows of a base file.

The nouns are Block, one block of a file as its frame describes it, and LogRecords, what all blocks
of a file slice say. Framing and contents are pure and go both ways; files are given open.
"""
