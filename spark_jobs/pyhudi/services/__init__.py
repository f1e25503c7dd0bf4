"""Keeping a table well.

Each service decides first, from values, and then acts: ``rollback`` undoes an instant, ``landed`` finds
the commit of an earlier attempt. None of them needs Spark.
"""
