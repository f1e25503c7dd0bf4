"""Bags of rows that compare equal when two engines mean the same rows."""

import json
from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa

from tests.support.golden import row_texts

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)

Row = dict[str, Any]


def rows_of(table: pa.Table) -> list[Row]:
    """Every row of a table as plain values, in an order that depends on the rows alone."""
    return [json.loads(text) for text in row_texts(table)]


def user_columns(rows: Iterable[Row]) -> list[Row]:
    """The rows without Hudi's five meta columns."""
    return without(rows, META_COLUMNS)


def without(rows: Iterable[Row], columns: Collection[str]) -> list[Row]:
    """The rows without some columns."""
    return [{n: v for n, v in row.items() if n not in columns} for row in rows]


def difference(found: Iterable[Row], wanted: Iterable[Row]) -> str:
    """What tells two bags of rows apart, as a short text; empty when they are equal."""
    left, right = _bag(found), _bag(wanted)
    if left == right:
        return ""
    extra, lost = sorted(set(left) - set(right)), sorted(set(right) - set(left))
    lines = [f"{len(left)} rows found, {len(right)} wanted"]
    lines += [f"  found only:  {text}" for text in extra[:3]]
    lines += [f"  wanted only: {text}" for text in lost[:3]]
    return "\n".join(lines)


def assert_same_rows(found: Iterable[Row], wanted: Iterable[Row]) -> None:
    """Fail with what differs."""
    told = difference(found, wanted)
    assert not told, told


def _bag(rows: Iterable[Row]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)
