"""Rows that say of themselves that their record is gone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.columns import Column, Flags, flags_of

SOFT_DELETE = "_hoodie_is_deleted"
OPERATION_FIELD = "_hoodie_operation"
"""The column of changelogs, as Hudi on Flink writes them: what was done to the row."""

_DELETING_OPERATIONS = ("D", "-U")


def soft_deletes(rows: pa.Table) -> Flags | None:
    """Which rows are marked deleted by Hudi's own column; None when none is.

    Source: HoodieRecord.HOODIE_IS_DELETED_FIELD, Hudi 0.15 (a column of another type says nothing).
    """
    if SOFT_DELETE not in rows.schema.names:
        return None
    if not pa.types.is_boolean(rows.schema.field(SOFT_DELETE).type):
        return None
    flags = flags_of(rows.column(SOFT_DELETE))
    return flags if flags.any() else None


def operation_deletes(rows: pa.Table) -> Flags | None:
    """Which rows are noted as deletes in the column that changelogs keep; None when none is.

    Source: HoodieOperation.isDeleteRecord, Hudi 0.15 and 1.1.
    """
    if OPERATION_FIELD not in rows.schema.names:
        return None
    column = rows.column(OPERATION_FIELD).cast(pa.string())
    flags = flags_of(pc.is_in(column, value_set=pa.array(_DELETING_OPERATIONS)))
    return flags if flags.any() else None


def text_is(column: Column, text: str, *, any_case: bool = False) -> Flags:
    """Which values read so; null reads like nothing.

    Shapes: a column of texts, whole numbers or booleans.
    Source: DefaultHoodieRecordPayload.isDeleteRecord, Hudi 0.15 (equality of Java texts).
    """
    values = column.cast(pa.string())
    return flags_of(pc.equal(pc.utf8_lower(values) if any_case else values, text))
