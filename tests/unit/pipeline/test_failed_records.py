"""Records that cannot be written: the whole write fails, or they are saved and the rest is in."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.errors import OptionError, RecordKeyError, SchemaError
from pyhudi.schema.arrow import arrow_to_avro
from tests.support.orders import OPTIONS, SCHEMA, report_to, stats_of, write
from tests.support.tree import data_files, tree

NARROW = pa.schema([*SCHEMA, ("qty", pa.int32()), pa.field("unit", pa.string(), nullable=False)])
WIDE = pa.schema([*SCHEMA, ("qty", pa.int64()), ("unit", pa.string())])
ASKED = {"hoodie.write.schema": json.dumps(arrow_to_avro(NARROW, "orders"))}

Row = tuple[str | None, str, int | None, int, str | None]


def lines(*rows: Row) -> pa.Table:
    """Rows as (id, part, ts, qty, unit)."""
    ids, parts, times, counts, units = zip(*rows, strict=True)
    columns = [ids, parts, times, ["v"] * len(rows), counts, units]
    return pa.Table.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, WIDE, strict=True)], schema=WIDE
    )


GOOD = lines(("a", "x", 1, 1, "kg"), ("b", "y", 1, 2, "kg"))
MIXED = lines(
    ("a", "x", 2, 10, "kg"),
    ("c", "x", 2, 2**40, "kg"),
    (None, "x", 2, 3, "kg"),
    ("d", "y", 2, 4, None),
    ("", "y", 2, 2**40, "kg"),
    ("e", "y", 2, 5, "kg"),
)
CAUSES = {
    "c": "column qty holds a value that does not fit int32",
    "d": "column unit is null and may not be",
    None: "no record key: id null or empty",
}


def saved(folder: Path) -> list[dict[str, Any]]:
    files = sorted(folder.glob("*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def quantities(table: Path) -> dict[str, int]:
    found = pyhudi.read_table(table, columns=["id", "qty"])
    return dict(zip(found["id"].to_pylist(), found["qty"].to_pylist(), strict=True))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table"
    write(path, GOOD, "insert", {**OPTIONS, **ASKED})
    return path


SORT_MODE = "hoodie.bulkinsert.sort.mode"
COMBINED = {"hoodie.combine.before.insert": "true", SORT_MODE: "GLOBAL_SORT"}


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        *(pytest.param(name, {}, id=name) for name in ("upsert", "insert", "bulk_insert")),
        pytest.param("bulk_insert", {SORT_MODE: "GLOBAL_SORT"}, id="sorted as a whole"),
        pytest.param("bulk_insert", {SORT_MODE: "PARTITION_SORT"}, id="sorted by task"),
        pytest.param("bulk_insert", COMBINED, id="sorted and combined"),
    ],
)
def test_failed_records_are_saved_and_the_others_written(
    table: Path, tmp_path: Path, operation: str, more: dict[str, str]
) -> None:
    folder = tmp_path / "failed"
    options = {**OPTIONS, **ASKED, **report_to(folder), **more}
    result = write(table, MIXED, operation, options)
    assert result.records["failed"] == 4
    assert result.failures["saved_to"] == str(folder)
    told = {(each["key"], each["cause"]) for each in result.failures["examples"]}
    assert told == set(CAUSES.items())
    rows = saved(folder)
    assert {(row["record_key"], row["cause"]) for row in rows} == set(CAUSES.items())
    assert {row["instant"] for row in rows} == {result.instant}
    assert sorted(json.loads(row["row"])["qty"] for row in rows) == [3, 4, 2**40, 2**40]
    assert (quantities(table).keys(), quantities(table)["e"]) == ({"a", "b", "e"}, 5)
    assert sum(stat["totalWriteErrors"] for stat in stats_of(table, result.instant)) == 4


@pytest.mark.parametrize("operation", ["upsert", "bulk_insert"])
def test_without_a_report_nothing_is_written_and_all_causes_are_named(table: Path, operation: str):
    before, files = tree(table), data_files(table)
    with pytest.raises(RecordKeyError) as caught:
        write(table, MIXED, operation, {**OPTIONS, **ASKED})
    for words in ("4 rows", "(2 rows)", "'c', 'd'. Mend", *CAUSES.values()):
        assert words in str(caught.value)
    assert data_files(table) == files
    if operation == "upsert":
        assert tree(table) == before


def test_a_value_out_of_range_is_a_schema_error(table: Path) -> None:
    with pytest.raises(SchemaError, match=r"1 row cannot be written.*qty.*'z'"):
        write(table, lines(("z", "x", 3, 2**31, "kg")), "upsert", {**OPTIONS, **ASKED})


def test_a_batch_of_failures_alone_is_committed_and_saved(table: Path, tmp_path: Path) -> None:
    before = quantities(table)
    rows = lines((None, "x", 3, 1, "kg"))
    for operation in ("upsert", "bulk_insert"):
        folder = tmp_path / operation
        result = write(table, rows, operation, {**OPTIONS, **ASKED, **report_to(folder)})
        assert (result.status, result.records["failed"]) == ("committed", 1)
        assert [row["record_key"] for row in saved(folder)] == [None]
        assert quantities(table) == before


def test_a_delete_reports_rows_without_a_key(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "failed"
    rows = lines(("a", "x", 3, 1, None), (None, "x", 3, 1, None))
    result = write(table, rows, "delete", {**OPTIONS, **report_to(folder)})
    assert (result.records["deleted"], result.records["failed"]) == (1, 1)
    assert quantities(table) == {"b": 2}


def test_a_report_without_failures_saves_nothing(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "failed"
    result = write(table, GOOD, "upsert", {**OPTIONS, **ASKED, **report_to(folder)})
    assert (result.records["failed"], result.failures) == (0, {})
    assert not folder.exists()


def test_failures_are_saved_outside_the_table(table: Path) -> None:
    with pytest.raises(OptionError, match="lies in the table"):
        write(table, GOOD, "upsert", {**OPTIONS, **report_to(table / "failed")})
    with pytest.raises(OptionError, match=r"pyhudi\.write\.error\.path"):
        write(table, GOOD, "upsert", {**OPTIONS, "pyhudi.write.error.policy": "report"})
