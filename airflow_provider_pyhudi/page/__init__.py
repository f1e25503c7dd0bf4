"""A page of tables in Airflow's user interface.

The main noun is Place: a table that the configuration lets people see. What is shown of it comes
from ``pyhudi.cli.overview``; nothing here writes to a table.
"""
