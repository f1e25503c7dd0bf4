"""Groups of tasks that belong together for one table."""
