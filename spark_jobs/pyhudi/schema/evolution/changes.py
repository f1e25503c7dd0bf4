"""What a commit makes of a table's schema, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from pyhudi.schema.arrow import is_any_list


def schema_changes(before: pa.Schema, after: pa.Schema) -> tuple[str, ...]:
    """Each change of a table's schema, one text for each; empty when it stays as it is."""
    return tuple(_changes(before, after, ""))


def _changes(before: Iterable[pa.Field], after: Iterable[pa.Field], at: str) -> Iterator[str]:
    old = {field.name: field for field in before}
    new = {field.name: field for field in after}
    for name, field in old.items():
        if name in new:
            yield from _field_changes(field, new[name], f"{at}{name}")
        else:
            yield f"column {at}{name} ({field.type}) is dropped"
    yield from (
        f"column {at}{name} ({field.type}) is new" for name, field in new.items() if name not in old
    )
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield f"{f'the fields of {at[:-1]}' if at else 'the columns'} are in another order"


def _field_changes(before: pa.Field, after: pa.Field, path: str) -> Iterator[str]:
    yield from _type_changes(before.type, after.type, path)
    if before.nullable != after.nullable:
        yield f"column {path} {'may be null now' if after.nullable else 'may not be null any more'}"


def _type_changes(before: pa.DataType, after: pa.DataType, path: str) -> Iterator[str]:
    if pa.types.is_struct(before) and pa.types.is_struct(after):
        yield from _changes(before, after, f"{path}.")
    elif is_any_list(before) and is_any_list(after):
        yield from _type_changes(before.value_type, after.value_type, f"{path}.element")
    elif pa.types.is_map(before) and pa.types.is_map(after):
        yield from _type_changes(before.item_type, after.item_type, f"{path}.value")
    elif before != after:
        yield f"column {path} was {before} and is {after}"
