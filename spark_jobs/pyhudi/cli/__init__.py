"""The console command ``pyhudi``: what a table is, has and lacks, told to people and scripts.

The noun is Report: named facts and grids of plain values, which a command gathers without a word
on how they look. The same report becomes a coloured table, aligned text or JSON. Nothing here
needs Spark. Of the rest of the project the page in Airflow alone imports it, for its reports.
"""
