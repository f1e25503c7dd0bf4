"""Where pure functions over Arrow batches run: spread over tasks, or here.

The main nouns are Runner, which starts them, and SpreadRows, what they give (``runner.py``).
``in_process.py`` runs one task after another in this process; Spark's runner is in ``spark``.
"""
