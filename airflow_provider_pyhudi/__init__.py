"""Airflow provider for Apache Hudi tables written by pyhudi.

Operators submit the job scripts of ``spark_jobs`` through the Spark provider, sensors and triggers
watch a table's timeline, the hook opens it. Nothing here writes a table.
"""
