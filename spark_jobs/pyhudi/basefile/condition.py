"""A condition on rows, by which parts of a base file are left unread."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

_PARQUET = ds.ParquetFileFormat()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCondition:
    """A condition on the rows of a table with a ``schema``, which looks at some ``columns``."""

    expression: pc.Expression
    columns: tuple[str, ...]
    schema: pa.Schema


def matching_row_groups(source: pa.NativeFile, condition: RowCondition) -> list[int] | None:
    """The row groups of a Parquet file that can hold rows which meet a condition.

    Shapes: row group numbers in file order; None for all of them, when a column of the condition
        has another type in the file than in the table and its statistics do not compare.
    """
    schema = condition.schema
    fragment = _PARQUET.make_fragment(source)
    physical = fragment.physical_schema
    for name in condition.columns:
        position = physical.get_field_index(name)
        if position >= 0 and not _comparable(
            physical.field(position).type, schema.field(name).type
        ):
            return None
    kept = fragment.subset(filter=condition.expression, schema=schema)
    return [group.id for group in kept.row_groups]


def _comparable(found: pa.DataType, wanted: pa.DataType) -> bool:
    return (
        bool(found == wanted)
        # A float becomes the double of the same text, which its statistics are not.
        or (pa.types.is_integer(found) and pa.types.is_integer(wanted))
    )
