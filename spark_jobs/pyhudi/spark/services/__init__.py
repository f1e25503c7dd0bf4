"""The services of a table as public functions for Spark, a module each.

They make a request of their arguments and hand it to the pipeline, with Spark as the runner. No
rule of Hudi's is here.
"""
