"""Columns that name, place or order records: their types change on purpose or not at all."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from pyhudi.config.options.evolution import KEY_TYPES_CHANGE, WRITE_SCHEMA, EvolutionConfig
from pyhudi.errors import SchemaError
from pyhudi.schema.columns import field_at
from pyhudi.schema.evolution.storable import storable_schema


def check_types_stay(
    roles: Mapping[str, Collection[str]],
    written: pa.Schema,
    stored: pa.Schema,
    evolution: EvolutionConfig,
) -> None:
    """Refuse that a column which a table rests on gets another type, unless just that is asked for.

    A source of another type is more often a mistake than a wish, and one batch of it would stay in
    the table for good.

    Shapes: ``roles`` has names and dotted paths of columns by what the columns are to the table.

    Raises:
        SchemaError: names the column, what it is for, and both types.
    """
    if evolution.changes_key_types or evolution.write_schema is not None:
        return
    for role, names in roles.items():
        for name in names:
            before, after = field_at(stored, name), field_at(written, name)
            if before is None or after is None or before.type == after.type:
                continue
            raise SchemaError(
                f"column {name} is {after.type} in the rows and {before.type} in the table, where "
                f"it is {role}: its type does not change by itself. Cast it to {before.type}, or "
                f"allow it with {KEY_TYPES_CHANGE.key}=true, or name the new schema with "
                f"{WRITE_SCHEMA.key}"
            )


def check_keys_keep(
    names: Collection[str], batch_schema: pa.Schema, written: pa.Schema, stored: pa.Schema
) -> None:
    """Refuse types of key and partition columns whose values read otherwise in the table's type.

    Keys are texts: 1 and 1.0 would be two records.

    Raises:
        SchemaError: names the column and both types.
    """
    for name in names:
        given, own = field_at(batch_schema, name), field_at(written, name)
        if given is None or own is None:
            continue
        wanted, known = own.type, field_at(stored, name)
        found = storable_schema(pa.schema([given])).field(0).type
        before = wanted if known is None else known.type
        for kind in (found, before):
            if not _reads_alike(kind, wanted):
                raise SchemaError(
                    f"column {name} is part of the key or partition path and would become "
                    f"{wanted} from {kind}, which is written in other words; cast it to {before}"
                )


def check_order_keeps(names: Collection[str], written: pa.Schema, stored: pa.Schema) -> None:
    """Refuse that an ordering column becomes text, which sorts 10 before 9.

    Raises:
        SchemaError: names the column and both types.
    """
    for name in names:
        before, after = field_at(stored, name), field_at(written, name)
        if before is None or after is None:
            continue
        if before.type != after.type and pa.types.is_string(after.type):
            raise SchemaError(
                f"the ordering column {name} would become {after.type} from {before.type}, which "
                f"sorts in another order; cast it to {before.type}"
            )


def _reads_alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_string(wanted):
        return not (pa.types.is_binary(found) or pa.types.is_timestamp(found))
    is_whole = pa.types.is_integer(found) and pa.types.is_integer(wanted)
    return bool(found == wanted or is_whole or pa.types.is_nested(wanted))
