"""Rules of merging from the request to the rows: what the table remembers, what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi.errors import OptionError, RequestError, TableMismatchError
from pyhudi.table.table import open_table
from tests.support.orders import OPTIONS, Row, orders, rows_of, write
from tests.support.tree import tree

PARTIAL = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
PAYLOAD = "hoodie.datasource.write.payload.class"
MERGER = "pyhudi.merge.custom.merger"
PARTIALLY = {**OPTIONS, PAYLOAD: PARTIAL}


class Joining:
    """A merger that strings the values of a record together; one that says "gone" deletes it."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """The joined records."""
        both = zip(older["value"].to_pylist(), newer["value"].to_pylist(), strict=True)
        joined = pa.array([f"{left}+{right}" for left, right in both])
        gone = pa.array([value == "gone" for value in newer["value"].to_pylist()])
        columns = {name: newer[name] for name in newer.column_names}
        return pa.table({**columns, "value": joined, "_hoodie_is_deleted": gone})


def properties_of(table: Path) -> Mapping[str, str]:
    return open_table(str(table)).config.raw


def test_a_table_remembers_that_it_is_updated_partially(table: Path) -> None:
    write(table, orders(("a", "p", 5, "old"), ("b", "p", 5, "old")), "insert", PARTIALLY)
    assert properties_of(table)["hoodie.compaction.payload.class"] == PARTIAL
    gap = orders(("a", "p", 7, None), ("b", "p", 3, "late"))  # type: ignore[arg-type]
    result = write(table, gap, "upsert")
    assert rows_of(table) == [("a", "p", 7, "old"), ("b", "p", 5, "old")]
    assert result.records["updated"] == 2

    before = tree(table)
    other = {**OPTIONS, PAYLOAD: PARTIAL.replace("PartialUpdate", "EventTime")}
    with pytest.raises(TableMismatchError, match="payload class"):
        write(table, gap, "upsert", other)
    assert tree(table) == before


def test_rows_that_cannot_be_compared_leave_the_rows_as_they_were(table: Path) -> None:
    write(table, orders(("a", "p", 5, "old")), "insert", PARTIALLY)
    twice: list[Row] = [("b", "p", 1, "x"), ("b", "p", None, "y")]  # type: ignore[list-item]
    with pytest.raises(RequestError, match="no value in the ordering column"):
        write(table, orders(*twice), "upsert")
    assert rows_of(table) == [("a", "p", 5, "old")]


def test_a_merger_in_python_is_run_when_table_and_request_name_it(table: Path) -> None:
    named = {**OPTIONS, MERGER: f"{__name__}:Joining"}
    first = orders(("a", "p", 1, "1"), ("a", "p", 0, "2"), ("b", "p", 1, "1"))
    write(table, first, "upsert", named)
    write(table, orders(("a", "p", 1, "3"), ("b", "p", 1, "gone")), "upsert", named)
    assert rows_of(table) == [("a", "p", 1, "1+2+3")]
    assert properties_of(table)[MERGER] == f"{__name__}:Joining"

    before = tree(table)
    refusals = {
        OptionError: OPTIONS,
        TableMismatchError: {**OPTIONS, MERGER: "another.module:Class"},
    }
    for kind, options in refusals.items():
        with pytest.raises(kind, match="Joining"):
            write(table, first, "upsert", options)
    assert tree(table) == before
    write(table, orders(("a", "p", 1, "")), "delete")
    assert rows_of(table) == []


def test_a_table_remembers_its_delete_marker(table: Path) -> None:
    marked = {
        **OPTIONS,
        "hoodie.payload.delete.field": "value",
        "hoodie.payload.delete.marker": "gone",
    }
    write(table, orders(("a", "p", 5, "old"), ("b", "p", 5, "old")), "insert", marked)
    kept = properties_of(table)
    assert kept["hoodie.record.merge.property.hoodie.payload.delete.field"] == "value"
    assert kept["hoodie.record.merge.property.hoodie.payload.delete.marker"] == "gone"
    write(table, orders(("a", "p", 5, "gone"), ("b", "p", 4, "gone")), "upsert")
    assert rows_of(table) == [("b", "p", 5, "old")]
    other = {**marked, "hoodie.payload.delete.marker": "other"}
    with pytest.raises(TableMismatchError, match="delete marker"):
        write(table, orders(("a", "p", 6, "")), "upsert", other)
