"""The schema that a batch is written with: the table's, widened and completed by the batch's."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pyarrow as pa

from pyhudi.config.options.evolution import (
    COLUMN_DROP,
    NULL_FOR_MISSING,
    WRITE_SCHEMA,
    EvolutionConfig,
    MissingColumns,
)
from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import avro_to_arrow, is_any_list
from pyhudi.schema.avro import parse
from pyhudi.schema.evolution.promotion import can_become, can_widen, may_fit
from pyhudi.schema.evolution.storable import storable_schema
from pyhudi.schema.metafields import without_meta


def written_schema(
    stored: pa.Schema, batch: pa.Schema, evolution: EvolutionConfig, dropped: Collection[str] = ()
) -> pa.Schema:
    """The schema that a batch is written with, of the request, the table and the batch together.

    ``dropped`` are columns that files do not hold.

    Shapes: no meta columns; ``stored`` has no columns before the first write.

    Raises:
        SchemaError: names each column that does not fit, what was found and what was expected.
    """
    if evolution.write_schema is not None:
        asked = _requested(evolution.write_schema)
        kept = pa.schema([field for field in asked if field.name not in dropped])
        return check_requested(kept, stored, batch, missing=evolution.missing)
    if not stored.names:
        return batch
    return check_compatible(
        stored, batch, missing=evolution.missing, keeps_row_order=evolution.keeps_row_order
    )


def check_compatible(
    table_schema: pa.Schema,
    batch_schema: pa.Schema,
    *,
    missing: MissingColumns = MissingColumns.REFUSE,
    keeps_row_order: bool = False,
) -> pa.Schema:
    """The schema to write a batch with: the table's, widened and completed by the batch's.

    The table's columns and struct fields keep their order and new ones follow them, nullable; with
    ``keeps_row_order`` a batch that adds columns gives its own order to all, and may lack none.

    Shapes: neither schema has meta columns.

    Raises:
        SchemaError: names each column that does not fit, what was found and what was expected.
    Source: HoodieSchemaUtils.deduceWriterSchema, AvroSchemaEvolutionUtils, Hudi 0.15 and 1.1 (the
        order of columns is 1.1's; 0.15 takes the batch's).
    """
    merge = _Merge(missing)
    fields = merge.fields(table_schema, storable_schema(batch_schema), "")
    merge.refuse_problems("the rows do not fit the table's schema")
    if keeps_row_order and merge.added:
        if merge.absent:
            raise SchemaError(
                f"the rows add {', '.join(merge.added)} and lack {', '.join(merge.absent)}; "
                "reconciling does one or the other, with the option "
                f"{NULL_FOR_MISSING.key} alone both are done"
            )
        fields = list(_ordered_as(fields, batch_schema))
    return pa.schema(fields, metadata=table_schema.metadata)


def check_requested(
    asked: pa.Schema,
    table_schema: pa.Schema,
    batch_schema: pa.Schema,
    *,
    missing: MissingColumns = MissingColumns.REFUSE,
) -> pa.Schema:
    """The schema that a request names, held against the table and the batch.

    The table's columns have to be in it, no narrower than they are, and so have the batch's, which
    may be wider: their values are checked one by one. Columns that the batch lacks are null.

    Raises:
        SchemaError: names each column that does not fit, what was found and what was expected.
    Source: HoodieWriteConfig.WRITE_SCHEMA_OVERRIDE, Hudi 0.15 and 1.1 (which checks nothing).
    """
    if table_schema.names:
        merge = _Merge(missing)
        merged = pa.schema(merge.fields(table_schema, asked, ""))
        merge.refuse_problems(f"{WRITE_SCHEMA.key} does not fit the table's schema")
        narrowed = [
            f"column {name} is {asked.field(name).type} where the table has "
            f"{merged.field(name).type}"
            for name in asked.names
            if not _same_type(asked.field(name).type, merged.field(name).type)
        ]
        if narrowed:
            raise SchemaError(f"{WRITE_SCHEMA.key} narrows the table: {'; '.join(narrowed)}")
    problems = list(_unfit(asked, storable_schema(batch_schema), ""))
    if problems:
        raise SchemaError(
            f"the rows do not fit {WRITE_SCHEMA.key}: {'; '.join(problems)}. "
            "Cast, add or leave out the columns before writing."
        )
    return asked


def _requested(text: str) -> pa.Schema:
    try:
        return without_meta(avro_to_arrow(parse(text)))
    except SchemaError as error:
        raise SchemaError(f"option {WRITE_SCHEMA.key}: {error}") from error


class _Merge:
    """One merging of a batch's columns into a table's, and what came up on the way."""

    def __init__(self, missing: MissingColumns) -> None:
        self._missing = missing
        self.problems: list[str] = []
        self.added: list[str] = []
        self.absent: list[str] = []

    def refuse_problems(self, what: str) -> None:
        if self.problems:
            raise SchemaError(
                f"{what}: {'; '.join(self.problems)}. Cast or add the columns before writing; "
                f"missing ones can be null ({NULL_FOR_MISSING.key}) or be dropped from the table "
                f"({COLUMN_DROP.key})."
            )

    def fields(
        self, table: Iterable[pa.Field], batch: Iterable[pa.Field], at: str
    ) -> list[pa.Field]:
        """The fields of a schema or struct, the table's first."""
        given = {found.name: found for found in batch}
        known = {known.name: known for known in table}
        self._refuse_like_names([*known, *(name for name in given if name not in known)], at)
        merged = []
        for name, own in known.items():
            found = given.get(name)
            if found is not None:
                merged.append(own.with_type(self._type(own.type, found.type, f"{at}{name}")))
            elif self._keeps(own, f"{at}{name}"):
                merged.append(own)
        fresh = [found for name, found in given.items() if name not in known]
        self.added += [f"{at}{found.name}" for found in fresh]
        return merged + [found.with_nullable(nullable=True) for found in fresh]

    def _keeps(self, own: pa.Field, path: str) -> bool:
        self.absent.append(path)
        if self._missing is MissingColumns.DROP:
            return False
        if self._missing is MissingColumns.REFUSE:
            self.problems.append(f"column {path} ({own.type}) is missing")
        elif not own.nullable:
            self.problems.append(f"column {path} ({own.type}) is missing and may not be null")
        return True

    def _refuse_like_names(self, names: list[str], at: str) -> None:
        seen: dict[str, str] = {}
        for name in names:
            like = seen.setdefault(name.lower(), name)
            if like != name:
                self.problems.append(
                    f"column {at}{name} differs from the column {like} by case alone"
                )

    def _type(self, table: pa.DataType, batch: pa.DataType, path: str) -> pa.DataType:
        if pa.types.is_struct(table) and pa.types.is_struct(batch):
            return pa.struct(self.fields(table, batch, f"{path}."))
        if is_any_list(table) and is_any_list(batch):
            inner = self._type(table.value_type, batch.value_type, f"{path}.element")
            return pa.list_(table.value_field.with_type(inner))
        if pa.types.is_map(table) and pa.types.is_map(batch) and table.key_type == batch.key_type:
            inner = self._type(table.item_type, batch.item_type, f"{path}.value")
            return pa.map_(table.key_field, table.item_field.with_type(inner))
        if can_become(batch, table):
            return table
        if can_widen(table, batch):
            return batch
        self.problems.append(f"column {path} is {batch} where the table has {table}")
        return table


def _ordered_as(merged: Iterable[pa.Field], batch: Iterable[pa.Field]) -> Iterable[pa.Field]:
    """The merged fields in the batch's order, nested ones too."""
    by_name = {field.name: field for field in merged}
    for given in batch:
        own = by_name[given.name]
        yield own.with_type(_type_ordered_as(own.type, given.type))


def _type_ordered_as(merged: pa.DataType, batch: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(merged) and pa.types.is_struct(batch):
        return pa.struct(list(_ordered_as(merged, batch)))
    if pa.types.is_list(merged) and is_any_list(batch):
        inner = _type_ordered_as(merged.value_type, batch.value_type)
        return pa.list_(merged.value_field.with_type(inner))
    if pa.types.is_map(merged) and pa.types.is_map(batch):
        inner = _type_ordered_as(merged.item_type, batch.item_type)
        return pa.map_(merged.key_field, merged.item_field.with_type(inner))
    return merged


def _unfit(asked: Iterable[pa.Field], batch: Iterable[pa.Field], at: str) -> Iterable[str]:
    """What keeps a batch's columns from being converted to the ones asked for."""
    wanted = {field.name: field for field in asked}
    given = {field.name: field for field in batch}
    for name in given.keys() - wanted.keys():
        yield f"column {at}{name} ({given[name].type}) is not in it"
    for name, own in wanted.items():
        if name in given:
            yield from _unfit_type(own.type, given[name].type, f"{at}{name}")
        elif not own.nullable:
            yield f"column {at}{name} ({own.type}) is missing and may not be null"


def _unfit_type(asked: pa.DataType, batch: pa.DataType, path: str) -> Iterable[str]:
    if pa.types.is_struct(asked) and pa.types.is_struct(batch):
        yield from _unfit(asked, batch, f"{path}.")
    elif is_any_list(asked) and is_any_list(batch):
        yield from _unfit_type(asked.value_type, batch.value_type, f"{path}.element")
    elif pa.types.is_map(asked) and pa.types.is_map(batch) and asked.key_type == batch.key_type:
        yield from _unfit_type(asked.item_type, batch.item_type, f"{path}.value")
    elif not may_fit(batch, asked):
        yield f"column {path} is {batch} where {asked} is asked for"


def _same_type(asked: pa.DataType, merged: pa.DataType) -> bool:
    """Whether two types say the same of their values, whatever the order of struct fields."""
    if pa.types.is_struct(asked) and pa.types.is_struct(merged):
        names = {field.name for field in asked}
        return names == {field.name for field in merged} and all(
            _same_type(field.type, merged.field(field.name).type) for field in asked
        )
    if pa.types.is_list(asked) and pa.types.is_list(merged):
        return _same_type(asked.value_type, merged.value_type)
    if pa.types.is_map(asked) and pa.types.is_map(merged):
        return _same_type(asked.item_type, merged.item_type)
    return bool(asked == merged)
