"""What each action writes into the file of its instant.

The nouns are the metadata and plans: values to bytes and back, in the very text that Hudi writes.
Pure; nothing here opens a file of a table.
"""
