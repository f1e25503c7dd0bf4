"""Operators, each of which is a request to one job script.

The main noun is PyhudiJobOperator: request to arguments, arguments to spark-submit, and the job's
result back. They import no Spark; the engine's storage is loaded when a task runs, not before.
"""
