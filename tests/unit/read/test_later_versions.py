"""Rows of tables of version 9 whose properties say how they are merged."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyhudi
from tests.support.log_files import avro_block, delete_block
from tests.support.mor_table import NULLABLE, OWN, SCHEMA, MorTable, Row, moment, records

PREFIX = "hoodie_record_merge_property_hoodie_"


def made(path: Path, *rows: Row, **properties: str) -> MorTable:
    """A file group of some rows, written at 1."""
    table = MorTable.of_version_9(path / "t", **properties)
    table.base("f", "1", records("1", *rows))
    table.instant("1")
    return table


def append(table: MorTable, time: str, *rows: Row) -> None:
    table.log("f", time, avro_block(moment(time), records(time, *rows), SCHEMA))
    table.instant(time)


def append_names(table: MorTable, time: str, *rows: Row) -> None:
    """Parts of rows, which have no names."""
    fields = [*NULLABLE, *(each for each in OWN if each["name"] != "name")]
    parts = [{k: v for k, v in row.items() if k != "name"} for row in records(time, *rows)]
    schema = {**SCHEMA, "fields": fields}
    table.log("f", time, avro_block(moment(time), parts, schema, IS_PARTIAL="true"))
    table.instant(time)


def read(table: MorTable, **query) -> dict[str, tuple]:
    rows = pyhudi.read_table(table.path, **query).to_pylist()
    return {row["id"]: (row["ts"], row["name"], row["_hoodie_commit_time"][-1]) for row in rows}


def test_nulls_are_filled_from_what_is_older_whichever_arrives_first(tmp_path: Path) -> None:
    own = {"hoodie_table_partial_update_mode": "IGNORE_DEFAULTS"}
    table = made(tmp_path, ("a", 5, None), ("b", 5, "old"), ("c", 5, "old"), **own)
    append(table, "2", ("a", 3, "late"), ("b", 7, None), ("c", 7, "new"))
    append(table, "3", ("d", 1, None))
    append(table, "4", ("d", 2, None), ("d", 1, "filled"))
    assert read(table) == {
        "a": (5, "late", "1"),
        "b": (7, "old", "2"),
        "c": (7, "new", "2"),
        "d": (2, "filled", "4"),
    }


def test_a_text_that_stands_for_nothing_is_filled(tmp_path: Path) -> None:
    own = {
        "hoodie_table_partial_update_mode": "FILL_UNAVAILABLE",
        "hoodie_record_merge_mode": "COMMIT_TIME_ORDERING",
        f"{PREFIX}write_partial_update_unavailable_value": "?",
    }
    table = made(tmp_path, ("a", 5, "kept"), ("b", 5, "kept"), **own)
    append(table, "2", ("a", 3, "?"), ("b", 3, None))
    assert read(table) == {"a": (3, "kept", "2"), "b": (3, None, "2")}


def test_a_column_and_its_value_can_delete(tmp_path: Path) -> None:
    own = {f"{PREFIX}payload_delete_field": "name", f"{PREFIX}payload_delete_marker": "D"}
    table = made(tmp_path, ("a", 5, "x"), ("b", 5, "x"), **own)
    append(table, "2", ("a", 6, "D"), ("b", 4, "D"))
    assert read(table) == {"b": (5, "x", "1")}


@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"])
def test_parts_of_rows_go_over_the_rows_that_they_change(tmp_path: Path, mode: str) -> None:
    table = made(
        tmp_path, ("a", 5, "a"), ("b", 5, "b"), ("c", 5, "c"), hoodie_record_merge_mode=mode
    )
    append(table, "2", ("d", 5, "d"), ("e", 5, "e"))
    append_names(table, "3", ("a", 6, None), ("b", 4, None), ("d", 7, None), ("n", 1, None))
    table.log("f", "4", delete_block(moment("4"), "e", "c"))
    table.instant("4")
    is_late = mode == "COMMIT_TIME_ORDERING"
    assert read(table) == {
        "a": (6, "a", "3"),
        "b": (4, "b", "3") if is_late else (5, "b", "1"),
        "d": (7, "d", "3"),
        "n": (1, None, "3"),
    }


def test_one_column_and_a_filter_of_parts_of_rows(tmp_path: Path) -> None:
    table = made(tmp_path, ("a", 5, "a"), ("b", 5, "b"), ("c", 5, "c"))
    append_names(table, "3", ("a", 6, None), ("b", 7, None))
    found = pyhudi.read_table(table.path, columns=["name"], filters=pc.field("ts") > 5)
    assert found.schema == pa.schema([("name", pa.string())])
    assert sorted(found["name"].to_pylist()) == ["a", "b"]
    assert pyhudi.read_table(table.path, columns=["ts"])["ts"].to_pylist() in ([5, 6, 7], [6, 7, 5])


def test_parts_of_rows_of_a_range_have_what_they_lack_from_before_it(tmp_path: Path) -> None:
    table = made(tmp_path, ("a", 5, "a"), ("b", 5, "b"))
    append(table, "2", ("b", 6, "b2"))
    append_names(table, "3", ("a", 6, None), ("b", 7, None))
    append(table, "4", ("a", 9, "a4"))
    query = {"query_type": "incremental", "begin": moment("2")}
    assert read(table, **query) == {"a": (9, "a4", "4"), "b": (7, "b2", "3")}
    then = read(table, **query, end=moment("3"))
    assert then == {"a": (6, "a", "3"), "b": (7, "b2", "3")}
