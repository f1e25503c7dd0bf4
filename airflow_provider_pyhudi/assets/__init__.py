"""Tables as assets of Airflow: their names, the events of tasks and watchers, and who reads them.

The main noun is the asset of a table, which ``table_asset`` gives by its path.
"""
