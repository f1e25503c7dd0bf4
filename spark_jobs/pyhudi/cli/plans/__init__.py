"""What a service would do to a table now: a function of the table and a request, to a Report.

Nothing is written. ``pyhudi plan`` and ``--dry-run`` of the services ask for these.
"""
