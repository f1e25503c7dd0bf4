"""Airflow for unit tests: a home of its own, no database, no examples."""

import os
import tempfile

# Airflow makes its home when it is imported, so this comes before any import of it.
os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="pyhudi-airflow-")
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "True"
