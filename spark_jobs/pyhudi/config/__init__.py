"""What the user and the table have decided, as values.

The nouns are Option, TableConfig and WriteConfig. This is the only package that reads the text of
``hoodie.*`` options and properties. Pure and standard library alone: Airflow imports it when it
parses a DAG.
"""
