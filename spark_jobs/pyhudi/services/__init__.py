"""Keeping a table well.

Each service decides first, from values, and then acts; ``rollback`` undoes an instant. None of them
needs Spark, and none writes rows.
"""
