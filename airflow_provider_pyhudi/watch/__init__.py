"""What can be waited for on a table, and one look at it for all who wait.

The main noun is Question: asked of a look, it says whether it is answered. Nothing here knows of
Airflow or writes, and pyarrow is loaded with the first look.
"""
