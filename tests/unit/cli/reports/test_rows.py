"""A few rows, and how many there are."""

from pathlib import Path

import pytest

from tests.support.base_files import spoil
from tests.support.console import Shell
from tests.support.golden import expected_rows, golden_names, golden_table

UNREAD = {"v6_cow_custom_keygen_long", "v9_cow_custom_keygen_long"}
"""Rows that Hudi itself does not read."""


@pytest.mark.parametrize("name", sorted({*golden_names()} - UNREAD))
def test_the_rows_that_hudi_reads_are_counted(pyhudi: Shell, name: str) -> None:
    assert pyhudi.json("count", golden_table(name))["rows"] == len(expected_rows(name))


def test_a_copy_on_write_table_is_counted_by_its_footers_alone(pyhudi: Shell, table: Path) -> None:
    for file in table.glob("p*/*.parquet"):
        spoil(file)
    found = pyhudi.json("count", table, "--by-partition")
    assert (found["rows"], found["counted_by"]) == (21, "the footers of 2 base files")
    assert found["partitions"] == [{"partition": "p0", "rows": 10}, {"partition": "p1", "rows": 11}]


def test_slices_with_log_files_are_merged_to_be_counted(pyhudi: Shell, logged: Path) -> None:
    found = pyhudi.json("count", logged)
    how = "the footers of 2 base files, and the merged keys of 2 slices with log files"
    assert (found["rows"], found["counted_by"]) == (21, how)
    optimized = pyhudi.json("count", logged, "--query-type", "read_optimized")
    assert optimized["rows"] == 24


def test_the_rows_of_an_instant_are_counted(pyhudi: Shell, table: Path) -> None:
    first = pyhudi.json("timeline", table)["timeline"][0]["instant"]
    assert pyhudi.json("count", table, "--as-of", first)["rows"] == 20


def test_a_few_rows_come_from_the_first_file(pyhudi: Shell, table: Path) -> None:
    for file in table.glob("p1/*.parquet"):
        spoil(file)
    found = pyhudi.json("head", table, "-n", 3)["rows"]
    assert [list(row) for row in found] == [["id", "part", "ts", "value"]] * 3
    assert {row["part"] for row in found} == {"p0"}


def test_columns_and_meta_columns_are_shown_when_asked_for(pyhudi: Shell, table: Path) -> None:
    (row,) = pyhudi.json("head", table, "-n", 1, "--columns", "value, id")["rows"]
    assert list(row) == ["value", "id"]
    (row,) = pyhudi.json("head", table, "-n", 1, "--meta")["rows"]
    assert next(iter(row)) == "_hoodie_commit_time"


def test_every_type_of_value_is_shown(pyhudi: Shell) -> None:
    table = golden_table("v6_cow_types")
    assert len(pyhudi.json("head", table, "-n", 100)["rows"]) == 26
    assert len(pyhudi("head", table).splitlines()) == 14


@pytest.mark.parametrize("rows", ["0", "10001", "x", "-3"])
def test_a_number_of_rows_that_makes_no_sense_is_refused(pyhudi: Shell, table: Path, rows: str):
    code, out, err = pyhudi.outcome("head", table, f"--rows={rows}")
    assert (code, out, err.count("\n")) == (2, "", 1)
