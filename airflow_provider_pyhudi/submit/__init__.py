"""How a job reaches Spark.

The main noun is PyhudiSparkSubmitHook: the Spark provider's hook with a local mode that needs no
connection. What is secret it keeps out of the command line. It knows nothing of tables.
"""
