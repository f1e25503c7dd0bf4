"""Two who change the schema of a table at once. Pure."""

from __future__ import annotations

from pyhudi.schema.avro import AvroSchema


def schema_to_commit(
    own: AvroSchema, before: AvroSchema | None, now: AvroSchema | None
) -> AvroSchema | None:
    """The schema that a commit says, whose write began when the table's was ``before``.

    None where others have changed it too, and to another one.

    Source: SimpleSchemaConflictResolutionStrategy, Hudi 1.0 to 1.2: none yet or the same as ours,
        ours; theirs unchanged, ours; ours unchanged, theirs.
    """
    is_theirs_unchanged = before is not None and has_same_columns(before, now)
    if now is None or is_theirs_unchanged or has_same_columns(own, now):
        return own
    if before is not None and has_same_columns(own, before):
        return now
    return None


def has_same_columns(one: AvroSchema | None, other: AvroSchema | None) -> bool:
    """Whether two schemas have the same columns; what the record itself is called says nothing."""
    return (one or {}).get("fields") == (other or {}).get("fields")
