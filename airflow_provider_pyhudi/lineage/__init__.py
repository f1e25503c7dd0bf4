"""What a task did, for others to find: lineage for OpenLineage, and links on the task's page.

The main noun is the operator that ran, with its result.
"""
