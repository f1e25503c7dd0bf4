"""Rules of merging from the request to the rows: what the table remembers, what is refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from pyhudi.errors import OptionError, RequestError, TableMismatchError
from pyhudi.table.table import open_table
from tests.support.mergers import JOINING
from tests.support.orders import OPTIONS, Row, orders, rows_of, write
from tests.support.tree import tree

PARTIAL = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
PAYLOAD = "hoodie.datasource.write.payload.class"
MERGER = "pyhudi.merge.custom.merger"
PARTIALLY = {**OPTIONS, PAYLOAD: PARTIAL}


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
    named = {**OPTIONS, MERGER: JOINING}
    first = orders(("a", "p", 1, "1"), ("a", "p", 0, "2"), ("b", "p", 1, "1"))
    write(table, first, "upsert", named)
    write(table, orders(("a", "p", 1, "3"), ("b", "p", 1, "gone")), "upsert", named)
    assert rows_of(table) == [("a", "p", 1, "1+2+3")]
    assert properties_of(table)[MERGER] == JOINING

    before = tree(table)
    another = {**OPTIONS, MERGER: "another.module:Class"}
    refusals = {OptionError: OPTIONS, TableMismatchError: another}
    for kind, options in refusals.items():
        with pytest.raises(kind, match="Joining"):
            write(table, first, "upsert", options)
    assert tree(table) == before
    write(table, orders(("a", "p", 1, "")), "delete")
    assert rows_of(table) == []


def test_a_table_remembers_its_delete_marker(table: Path) -> None:
    marker = {"hoodie.payload.delete.field": "value", "hoodie.payload.delete.marker": "gone"}
    marked = {**OPTIONS, **marker}
    write(table, orders(("a", "p", 5, "old"), ("b", "p", 5, "old")), "insert", marked)
    kept = properties_of(table)
    assert marker == {name: kept[f"hoodie.record.merge.property.{name}"] for name in marker}
    write(table, orders(("a", "p", 5, "gone"), ("b", "p", 4, "gone")), "upsert")
    assert rows_of(table) == [("b", "p", 5, "old")]
    other = {**marked, "hoodie.payload.delete.marker": "other"}
    with pytest.raises(TableMismatchError, match="delete marker"):
        write(table, orders(("a", "p", 6, "")), "upsert", other)
