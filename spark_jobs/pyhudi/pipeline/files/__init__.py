"""Rows on their way to the tasks that write them, and the statistics of the files they made.

``routing.py`` sends the rows of a staged batch to file groups that were chosen for them;
``bulk.py`` writes what a source holds to new files as it comes.
"""
