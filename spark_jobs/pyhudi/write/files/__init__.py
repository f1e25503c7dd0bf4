"""What a task does: one file of a file group written, rewritten or appended to.

Each leaves its marker first and gives the statistics of what it wrote.
"""
