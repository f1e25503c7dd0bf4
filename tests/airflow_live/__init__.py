"""A real Airflow on PostgreSQL, started and stopped by the tests that drive it.

``LiveAirflow`` (``server.py``) is the whole of it; ``make airflow`` starts the same for a person.
"""
