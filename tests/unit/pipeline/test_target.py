"""Requests that cannot be carried out: an error names what and where, and nothing changes."""

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
    TableMismatchError,
    TableNotFoundError,
    UnsupportedError,
)
from pyhudi.services.recovery import writer_of
from pyhudi.table.table import open_table
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import Action
from pyhudi.transaction.instant_run import InstantRun
from tests.support.golden import golden_copy
from tests.support.orders import OPTIONS, WITHOUT_ORDERING, many, orders, rows_of, tuples, write
from tests.support.tree import data_files, signs_of_work, tree

ROWS = many(range(6), 1, "old")
_WRITE = "hoodie.datasource.write."
IN_PROCESS = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = tmp_path_factory.mktemp("written") / "table"
    write(table, ROWS, "insert")
    return table


@pytest.fixture
def table(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "table"))


def with_column(name: str, values: list[Any]) -> pa.Table:
    rows = orders(("a", "x", 1, "v"), ("b", "x", 2, "v"), ("c", "x", 3, "v"))
    return rows.set_column(rows.column_names.index(name), name, pa.array(values))


# What is wrong, the rows or options (as text), the error, and words it must have.
WRONG_ROWS = {
    "no key column": (ROWS.drop_columns(["id"]), RequestError, "id", "part, ts, value"),
    "no partition column": (ROWS.drop_columns(["part"]), RequestError, "part", "id, ts, value"),
    "no ordering column": (ROWS.drop_columns(["ts"]), RequestError, "ts"),
    "a missing column": (ROWS.drop_columns(["value"]), SchemaError, "value", "missing"),
    "another type": (with_column("value", [True] * 3), SchemaError, "value", "bool", "string"),
    "a wider ordering column": (
        *(with_column("ts", [1.5, 2.0, 3.0]), SchemaError, "ts", "double", "int64"),
        "pyhudi.schema.allow.key.type.change",
    ),
    "order of another type": (with_column("ts", ["x"] * 3), SchemaError, "ts", "string", "int64"),
    "null keys": (with_column("id", ["a", None, None]), RecordKeyError, "2", "id"),
    "empty keys": (with_column("id", ["a", "", "c"]), RecordKeyError, "1", "id"),
    "null ordering values": (with_column("ts", [1, None, 3]), RequestError, "1 row", "ts"),
}


@pytest.mark.parametrize("what", WRONG_ROWS)
def test_rows_that_do_not_fit_are_refused(table: Path, what: str) -> None:
    rows, kind, *words = WRONG_ROWS[what]
    assert_refused(table, kind, words, rows=rows)


EVENT_TIME = "org.apache.hudi.common.model.EventTimeAvroPayload"
DROPPED = "drop.partition.columns"
WRONG_OPTIONS = {
    "table.name=other": (TableMismatchError, "name orders", "other"),
    "write.table.type=MERGE_ON_READ": (TableMismatchError, "type COPY_ON_WRITE", "MERGE_ON_READ"),
    "write.recordkey.field=value": (TableMismatchError, "record key id", "value"),
    "write.partitionpath.field=value": (TableMismatchError, "partition columns part", "value"),
    "write.partitionpath.field=": (TableMismatchError, "partition columns part", "says none;"),
    "write.precombine.field=value": (TableMismatchError, "ordering column ts", "value"),
    "write.keygenerator.type=COMPLEX": (TableMismatchError, "key generator", "SimpleKey"),
    f"write.payload.class={EVENT_TIME}": (TableMismatchError, "payload class", "EventTime"),
    "merger=some.module:Class": (TableMismatchError, "payload class"),
    "base.file.format=orc": (TableMismatchError, "base file format PARQUET", "ORC"),
    "write.hive_style_partitioning=true": (TableMismatchError, "hive style false", "true"),
    "write.partitionpath.urlencode=true": (TableMismatchError, "path encoding false", "true"),
    "populate.meta.fields=false": (TableMismatchError, "meta columns true", "false"),
    f"write.{DROPPED}=true": (TableMismatchError, "partition columns dropped false", "true"),
    "index.type=RECORD_INDEX": (UnsupportedError, "RECORD_INDEX", "SIMPLE"),
    "write.operation=merge": (OptionError, "merge", "upsert"),
    "write.operation=upsert_prepped": (UnsupportedError, "upsert_prepped"),
    "parquet.max.file.size=large": (OptionError, "hoodie.parquet.max.file.size", "large"),
    "write.table.version=7": (OptionError, "hoodie.write.table.version", "7"),
    "write.table.version=9": (TableMismatchError, "version 6", "9"),
    "write.operation=bulk_insert bulkinsert.sort.mode=GLOBAL_SORT "
    "write.insert.drop.duplicates=true": (UnsupportedError, "sort.mode", "drop.duplicates"),
}


@pytest.mark.parametrize("what", WRONG_OPTIONS)
def test_options_that_do_not_fit_the_table_are_refused(table: Path, what: str) -> None:
    kind, *words = WRONG_OPTIONS[what]
    assert_refused(table, kind, words, options=options_of(what))


NO_META = "populate.meta.fields=false"
WRONG_NEW = {
    "table.name=": (OptionError, "name"),
    "write.recordkey.field= combine.before.insert=true": (
        *(OptionError, "combine.before.insert", "record key"),
    ),
    f"write.recordkey.field= {NO_META}": (UnsupportedError, "populate.meta.fields", "record key"),
    f"{NO_META} write.{DROPPED}=true": (UnsupportedError, "populate.meta.fields", DROPPED),
    f"{NO_META} write.keygenerator.class=org.apache.hudi.keygen.GlobalDeleteKeyGenerator": (
        *(UnsupportedError, "populate.meta.fields", "GlobalDelete"),
    ),
    "write.keygenerator.type=TIMESTAMP": (OptionError, "timestamp.type"),
    f"write.keygenerator.type=TIMESTAMP write.{DROPPED}=true": (
        *(UnsupportedError, DROPPED, "TimestampBased"),
    ),
    "write.keygenerator.type=CUSTOM": (OptionError, "city:SIMPLE,moment:TIMESTAMP"),
    "table.base.file.format=HFILE": (UnsupportedError, "supported are PARQUET, ORC"),
    "write.operation=delete": (TableNotFoundError, "delete"),
    "write.recordkey.field=nr": (RequestError, "nr", "id, part, ts, value"),
    "write.precombine.field=when": (RequestError, "when", "id, part, ts, value"),
}


@pytest.mark.parametrize("what", WRONG_NEW)
def test_a_table_that_cannot_be_made_is_not(tmp_path: Path, what: str) -> None:
    kind, *words = WRONG_NEW[what]
    assert_refused(tmp_path / "table", kind, words, options=options_of(what))
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize(("kind", "value"), [("binary", b"1"), ("list", [1])])
def test_a_type_without_order_is_no_ordering_column(tmp_path, kind: str, value: object) -> None:
    rows = with_column("ts", [value] * 3)
    assert_refused(tmp_path / "table", RequestError, ["ts", kind], rows=rows)


def options_of(texts: str) -> dict[str, str]:
    """Options in short, parted by blanks."""
    pairs = (text.split("=", 1) for text in texts.split())
    return {long_name(name): value for name, value in pairs}


def long_name(name: str) -> str:
    if name == "merger":
        return "pyhudi.merge.custom.merger"
    plain = ("write.table.version", "write.concurrency.mode", "write.lock.provider")
    is_of_source = name.startswith("write.") and name not in plain
    return f"hoodie.datasource.{name}" if is_of_source else f"hoodie.{name}"


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


# What of versions 8 and 9 is not proven yet.
LATER = {
    "v9_cow_cdc": "keeps change data",
}


@pytest.mark.parametrize("name", LATER)
def test_a_table_of_a_later_version_that_is_not_written_yet_stays_as_it_is(
    tmp_path: Path, name: str
) -> None:
    table = golden_copy(name, tmp_path)
    before = tree(table)
    with pytest.raises(UnsupportedError, match=LATER[name]):
        write(table, ROWS, "upsert", {})
    assert tree(table) == before


NOT_MADE = {
    "merger=some.module:Class": "Merger",
}


@pytest.mark.parametrize("version", ["8", "9"])
@pytest.mark.parametrize("what", NOT_MADE)
def test_what_is_not_proven_of_a_later_version_is_not_made(
    tmp_path: Path, what: str, version: str
) -> None:
    table = tmp_path / "table"
    options = {**OPTIONS, **options_of(what), "hoodie.write.table.version": version}
    with pytest.raises(UnsupportedError, match=NOT_MADE[what]):
        write(table, ROWS, "upsert", options)
    assert not table.exists()


@pytest.mark.parametrize("version", ["8", "9"])
def test_a_mode_of_merging_that_a_later_table_does_not_name_is_refused(
    tmp_path: Path, version: str
) -> None:
    table = tmp_path / "table"
    write(table, ROWS, "upsert", {**OPTIONS, "hoodie.write.table.version": version})
    asked = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
    words = {
        "8": ["DefaultHoodieRecordPayload", "OverwriteWithLatestAvroPayload"],
        "9": ["merge mode EVENT_TIME", "COMMIT_TIME"],
    }[version]
    assert_refused(table, TableMismatchError, words, options=asked)


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
    assert signs_of_work(table) == []


def test_a_second_writer_is_turned_away_while_the_first_lives(table: Path) -> None:
    first = writer_of(open_table(str(table)), SystemClock(), HeartbeatConfig())
    with InstantRun(first, Action.COMMIT) as run:
        before = tree(table)
        with pytest.raises(ConflictError, match=run.instant) as caught:
            write(table, ROWS)
        assert str(table) in str(caught.value)
        assert caught.value.retryable
        assert tree(table) == before
        run.withdraw()
    assert write(table, ROWS).status == "committed"


def test_a_file_at_the_path_of_the_table_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("not a table")
    for base in (path, path / "below"):
        with pytest.raises(RequestError, match="is a file, or lies below one; give the folder"):
            write(base, ROWS, "upsert", WITHOUT_ORDERING)
    assert path.read_text() == "not a table"


@pytest.mark.parametrize("file", ["day.csv", "2026/11/day.csv", "_temporary/0/part-0"])
def test_no_table_is_made_among_files_of_others_unless_it_is_allowed(
    tmp_path: Path, file: str
) -> None:
    other = tmp_path / "landing" / file
    other.parent.mkdir(parents=True)
    other.write_text("1,2")
    words = [str(tmp_path / "landing"), file, "pyhudi.table.allow.other.files=true"]
    assert_refused(tmp_path / "landing", RequestError, words)
    allowed = {**OPTIONS, "pyhudi.table.allow.other.files": "true"}
    assert write(tmp_path / "landing", ROWS, "upsert", allowed).status == "committed"
    assert write(tmp_path / "landing", ROWS).status == "committed"


def test_a_table_is_made_in_folders_that_hold_nothing_but_folders_and_marks(
    tmp_path: Path,
) -> None:
    table = tmp_path / "table"
    (table / "part=1" / "deep").mkdir(parents=True)
    for name in (".DS_Store", ".git/config", "_SUCCESS", "part=1/_$folder$", "old_$folder$"):
        (table / name).parent.mkdir(exist_ok=True)
        (table / name).touch()
    assert write(table, ROWS).status == "committed"
