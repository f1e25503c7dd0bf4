"""What jobs are asked for and what they answer: the contract between Airflow and Spark.

One module per job. Airflow reads this package when it parses a DAG, so it needs nothing but the
standard library and the declared options.
"""
