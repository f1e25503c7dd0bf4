"""Requests that cannot be carried out: an error names what and where, and nothing changes."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import (
    ConflictError,
    HudiError,
    OptionError,
    RecordKeyError,
    RequestError,
    SchemaError,
    StorageError,
    TableMismatchError,
    TableNotFoundError,
    UnsupportedError,
)
from pyhudi.table.table import open_table
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import Action
from pyhudi.transaction.transaction import Transaction, Writer
from tests.support.golden import golden_copy
from tests.support.orders import OPTIONS, WITHOUT_ORDERING, many, orders, rows_of, tuples, write
from tests.support.tree import data_files, tree

ROWS = many(range(6), 1, "old")
_WRITE = "hoodie.datasource.write."


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = tmp_path_factory.mktemp("written") / "table"
    write(table, ROWS, "insert")
    return table


@pytest.fixture
def table(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "table"))


def with_column(name: str, values: list[Any], kind: pa.DataType) -> pa.Table:
    rows = orders(("a", "x", 1, "v"), ("b", "x", 2, "v"), ("c", "x", 3, "v"))
    column = pa.array(values, kind)
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, column)
    return rows.append_column(name, column)


# What is wrong, the rows, options beyond those of the table, the error, and words it must have.
WRONG_ROWS = {
    "no key column": (ROWS.drop_columns(["id"]), RequestError, ["id", "part, ts, value"]),
    "no partition column": (ROWS.drop_columns(["part"]), RequestError, ["part", "id, ts, value"]),
    "no ordering column": (ROWS.drop_columns(["ts"]), RequestError, ["ts"]),
    "a missing column": (ROWS.drop_columns(["value"]), SchemaError, ["value", "missing"]),
    "a column of another type": (
        with_column("value", [True, False, True], pa.bool_()),
        SchemaError,
        ["value", "bool", "string"],
    ),
    "an ordering column of another type": (
        with_column("ts", ["x", "y", "z"], pa.string()),
        SchemaError,
        ["ts", "string", "int64"],
    ),
    "null keys": (
        with_column("id", ["a", None, None], pa.string()),
        RecordKeyError,
        ["2", "id"],
    ),
    "empty keys": (with_column("id", ["a", "", "c"], pa.string()), RecordKeyError, ["1", "id"]),
    "null ordering values": (
        with_column("ts", [1, None, 3], pa.int64()),
        RequestError,
        ["1 row", "ts"],
    ),
}


@pytest.mark.parametrize("what", WRONG_ROWS)
def test_rows_that_do_not_fit_are_refused(table: Path, what: str) -> None:
    rows, kind, words = WRONG_ROWS[what]
    assert_refused(table, kind, words, rows=rows)


WRONG_OPTIONS = {
    "another name": ({"hoodie.table.name": "other"}, TableMismatchError, ["orders", "other"]),
    "another type": (
        {f"{_WRITE}table.type": "MERGE_ON_READ"},
        RequestError,
        ["MERGE_ON_READ"],
    ),
    "another key": (
        {f"{_WRITE}recordkey.field": "value"},
        TableMismatchError,
        ["record key", "id", "value"],
    ),
    "other partition columns": (
        {f"{_WRITE}partitionpath.field": "value"},
        TableMismatchError,
        ["partition columns", "part", "value"],
    ),
    "no partition columns": (
        {f"{_WRITE}partitionpath.field": ""},
        TableMismatchError,
        ["partition columns", "part", "(none)"],
    ),
    "another ordering column": (
        {f"{_WRITE}precombine.field": "value"},
        TableMismatchError,
        ["ordering column", "ts", "value"],
    ),
    "hive style": (
        {f"{_WRITE}hive_style_partitioning": "true"},
        TableMismatchError,
        ["hive style"],
    ),
    "an index not done here": (
        {"hoodie.index.type": "RECORD_INDEX"},
        UnsupportedError,
        ["RECORD_INDEX", "SIMPLE"],
    ),
    "an unknown operation": ({f"{_WRITE}operation": "merge"}, OptionError, ["merge", "upsert"]),
    "an operation not done here": (
        {f"{_WRITE}operation": "upsert_prepped"},
        UnsupportedError,
        ["upsert_prepped"],
    ),
    "another key generator": (
        {f"{_WRITE}keygenerator.type": "COMPLEX"},
        TableMismatchError,
        ["key generator", "SimpleKeyGenerator", "ComplexKeyGenerator"],
    ),
    "another payload class": (
        {f"{_WRITE}payload.class": "org.apache.hudi.common.model.EventTimeAvroPayload"},
        TableMismatchError,
        ["payload class", "DefaultHoodieRecordPayload", "EventTimeAvroPayload"],
    ),
    "a merger": (
        {"pyhudi.merge.custom.merger": "some.module:Class"},
        TableMismatchError,
        ["payload class"],
    ),
    "another file format": (
        {"hoodie.base.file.format": "orc"},
        TableMismatchError,
        ["base file format PARQUET", "ORC"],
    ),
    "encoded paths": (
        {f"{_WRITE}partitionpath.urlencode": "true"},
        TableMismatchError,
        ["path encoding", "False", "True"],
    ),
    "no meta columns": (
        {"hoodie.populate.meta.fields": "false"},
        TableMismatchError,
        ["meta columns"],
    ),
    "dropped partition columns": (
        {f"{_WRITE}drop.partition.columns": "true"},
        TableMismatchError,
        ["partition columns dropped"],
    ),
    "sorted rows of which some are known": (
        {
            f"{_WRITE}operation": "bulk_insert",
            "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
            f"{_WRITE}insert.drop.duplicates": "true",
        },
        UnsupportedError,
        ["hoodie.bulkinsert.sort.mode", "insert.drop.duplicates"],
    ),
    "a size that is none": (
        {"hoodie.parquet.max.file.size": "large"},
        OptionError,
        ["hoodie.parquet.max.file.size", "large"],
    ),
    "a table version not written": (
        {"hoodie.write.table.version": "9"},
        RequestError,
        ["hoodie.write.table.version", "9"],
    ),
}


@pytest.mark.parametrize("what", WRONG_OPTIONS)
def test_options_that_do_not_fit_the_table_are_refused(table: Path, what: str) -> None:
    options, kind, words = WRONG_OPTIONS[what]
    assert_refused(table, kind, words, options=options)


WRONG_NEW = {
    "no name": ({"hoodie.table.name": ""}, OptionError, ["name"]),
    "no key to combine by": (
        {f"{_WRITE}recordkey.field": "", "hoodie.combine.before.insert": "true"},
        OptionError,
        ["combine.before.insert", "record key"],
    ),
    "no key and no meta columns": (
        {f"{_WRITE}recordkey.field": "", "hoodie.populate.meta.fields": "false"},
        UnsupportedError,
        ["populate.meta.fields", "record key"],
    ),
    "no meta columns and no partition columns": (
        {"hoodie.populate.meta.fields": "false", f"{_WRITE}drop.partition.columns": "true"},
        UnsupportedError,
        ["populate.meta.fields", "drop.partition.columns"],
    ),
    "no meta columns with a generator that is not plain": (
        {
            "hoodie.populate.meta.fields": "false",
            f"{_WRITE}keygenerator.class": "org.apache.hudi.keygen.GlobalDeleteKeyGenerator",
        },
        UnsupportedError,
        ["populate.meta.fields", "GlobalDelete"],
    ),
    "times without a type": (
        {f"{_WRITE}keygenerator.type": "TIMESTAMP"},
        OptionError,
        ["timestamp.type"],
    ),
    "dropped columns that paths do not tell": (
        {f"{_WRITE}keygenerator.type": "TIMESTAMP", f"{_WRITE}drop.partition.columns": "true"},
        UnsupportedError,
        ["drop.partition.columns", "TimestampBased"],
    ),
    "a custom generator without kinds": (
        {f"{_WRITE}keygenerator.type": "CUSTOM"},
        OptionError,
        ["city:SIMPLE"],
    ),
    "files not written here": (
        {"hoodie.table.base.file.format": "HFILE"},
        UnsupportedError,
        ["supported are PARQUET, ORC"],
    ),
    "nothing to delete from": ({f"{_WRITE}operation": "delete"}, TableNotFoundError, ["delete"]),
    "a key column that is not there": (
        {f"{_WRITE}recordkey.field": "nr"},
        RequestError,
        ["nr", "id, part, ts, value"],
    ),
    "an ordering column that is not there": (
        {f"{_WRITE}precombine.field": "when"},
        RequestError,
        ["when", "id, part, ts, value"],
    ),
}


@pytest.mark.parametrize("what", WRONG_NEW)
def test_a_table_that_cannot_be_made_is_not(tmp_path: Path, what: str) -> None:
    options, kind, words = WRONG_NEW[what]
    assert_refused(tmp_path / "table", kind, words, options=options)
    assert not (tmp_path / "table").exists()


ORDERLESS = {"binary": [b"1", b"2", b"3"], "list": [[1], [2], [3]]}


@pytest.mark.parametrize("kind", ORDERLESS)
def test_a_type_without_order_is_no_ordering_column(tmp_path: Path, kind: str) -> None:
    rows = with_column("ts", ORDERLESS[kind], pa.array(ORDERLESS[kind]).type)
    assert_refused(tmp_path / "table", RequestError, ["ts", kind], rows=rows)


def assert_refused(
    table: Path,
    kind: type[HudiError],
    words: list[str],
    *,
    rows: pa.Table = ROWS,
    options: Mapping[str, str] | None = None,
) -> None:
    """The write ends in that error with those words, and the table is bit for bit as it was."""
    before = tree(table)
    operation = (options or {}).get(f"{_WRITE}operation", "upsert")
    with pytest.raises(kind) as caught:
        write(table, rows, operation, {**OPTIONS, **(options or {})})
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
    assert caught.value.exit_code == 2
    assert not caught.value.retryable
    assert tree(table) == before


UNWRITABLE = {
    # What the table goes by is recorded in it only in part.
    "v6_cow_timestamp_keygen": "timestamp.type",
    "v6_cow_custom_keygen_long": "city:SIMPLE",
}


@pytest.mark.parametrize("name", UNWRITABLE)
def test_tables_that_are_not_written_yet_stay_as_they_are(tmp_path: Path, name: str) -> None:
    table = golden_copy(name, tmp_path)
    before = tree(table)
    rows = pa.table({"id": ["1"], "part": ["north"], "ts": [1], "qty": [1]})
    with pytest.raises(RequestError, match=UNWRITABLE[name]):
        write(table, rows, "upsert", {})
    assert tree(table) == before


def test_a_table_of_a_later_version_stays_as_it_is(table: Path) -> None:
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(
        properties.read_text().replace("hoodie.table.version=6", "hoodie.table.version=8")
    )
    assert_refused(table, UnsupportedError, ["orders", "version 8", str(table)])


def test_an_empty_source_is_nothing_to_do(table: Path) -> None:
    before = tree(table)
    for operation in ("upsert", "insert", "delete"):
        result = write(table, ROWS.slice(0, 0), operation)
        assert (result.status, result.instant) == ("nothing_to_do", None)
        assert tree(table) == before
    new = table.parent / "new"
    assert write(new, ROWS.slice(0, 0)).status == "nothing_to_do"
    assert not new.exists()
    assert write(table, ROWS.slice(0, 0), "bulk_insert").status == "nothing_to_do"
    assert tree(table) == before


def test_a_bulk_insert_that_meets_a_null_key_leaves_the_rows_as_they_were(table: Path) -> None:
    files = data_files(table)
    rows = many([*range(100, 140)], 2, "new")
    keys = [*rows.column("id").to_pylist()[:-1], None]
    with pytest.raises(RecordKeyError, match="id"):
        write(table, rows.set_column(0, "id", pa.array(keys)), "bulk_insert")
    assert data_files(table) == files
    assert rows_of(table) == tuples(ROWS)
    assert not list((table / ".hoodie" / ".temp").iterdir())
    assert not list((table / ".hoodie" / ".heartbeat").iterdir())


def test_a_second_writer_is_turned_away_while_the_first_lives(table: Path) -> None:
    opened = open_table(str(table))
    first = Writer(
        storage=opened.storage,
        config=opened.config,
        clock=SystemClock(),
        heartbeat=HeartbeatConfig(),
        undo=lambda _: None,
    )
    with Transaction(first, Action.COMMIT) as transaction:
        before = tree(table)
        with pytest.raises(ConflictError, match=transaction.instant) as caught:
            write(table, ROWS)
        assert str(table) in str(caught.value)
        assert caught.value.retryable
        assert tree(table) == before
        transaction.withdraw()
    assert write(table, ROWS).status == "committed"


def test_a_file_at_the_path_of_the_table_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("not a table")
    with pytest.raises((StorageError, RequestError), match="table"):
        write(path, ROWS, "upsert", WITHOUT_ORDERING)
    assert path.read_text() == "not a table"
