"""Tasks as Spark runs them.

The noun is SparkRunner (``runner``): rows lie in data frames of binary pieces, and Python workers
map them. What a task does with its rows is decided in ``pyhudi.pipeline``, and not here.
"""
