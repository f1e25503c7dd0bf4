"""All log files of a slice together."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa
import pytest

from pyhudi.config.options.merging import MergeMode
from pyhudi.errors import SchemaError
from pyhudi.fileslice.logs import LogCounts, read_log_records
from pyhudi.fileslice.reading import SliceReading
from pyhudi.merge.rule import MergeRule
from tests.support.log_files import avro_block, committed, delete_block, rollback_block, rows

TABLE = pa.schema([("_hoodie_record_key", pa.string()), ("ts", pa.float64())])


def reading_of(wanted: str) -> SliceReading:
    return SliceReading(rule=MergeRule(mode=MergeMode.COMMIT_TIME), timeline=committed(*wanted))


def read(
    files: Mapping[str, bytes],
    wanted: str = "123456789",
    schema: pa.Schema = TABLE,
    counts: LogCounts | None = None,
) -> dict:
    """The ordering value by key, ``None`` where it is deleted."""
    opened: list[str] = []

    @contextmanager
    def open_file(name: str) -> Iterator[pa.NativeFile]:
        opened.append(name)
        yield pa.BufferReader(files[name])
        opened.remove(name)

    found = read_log_records(list(files), open_file, schema, reading_of(wanted), counts)
    assert not opened
    assert found.rows.schema == schema
    values = found.rows.column("ts").to_pylist()
    gone = found.is_delete.tolist()
    return {
        key: None if is_gone else value
        for key, value, is_gone in zip(found.keys.to_pylist(), values, gone, strict=True)
    }


def test_files_are_read_in_their_order_and_rows_come_in_the_tables_types() -> None:
    files = {
        "first": avro_block("1", rows(("a", 1, None), ("b", 1, None))) + delete_block("2", "b"),
        "second": avro_block("3", rows(("a", 3, None))),
    }
    assert read(files) == {"a": 3.0, "b": None}
    assert read(files, wanted="13") == {"a": 3.0, "b": 1.0}


def test_a_rollback_in_a_later_file_counts() -> None:
    files = {
        "first": avro_block("1", rows(("a", 1, None))) + avro_block("2", rows(("a", 2, None))),
        "second": rollback_block("3", "2"),
    }
    assert read(files) == {"a": 1.0}


def test_the_writes_whose_blocks_count_are_noted_in_reading_order() -> None:
    content = [
        avro_block("2", rows(("a", 1, None))),
        delete_block("1", "b"),
        delete_block("2", "c"),
    ]
    undone = delete_block("3", "a") + rollback_block("4", "3")
    files = {"first": b"".join(content), "second": undone}
    counts = LogCounts()
    read(files, "1234", counts=counts)
    assert counts.instants == ("2", "1")


def test_no_files_are_no_records() -> None:
    assert read({}) == {}


def test_values_that_do_not_fit_the_table_are_refused() -> None:
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("ts", pa.bool_())])
    with pytest.raises(
        SchemaError, match=r"AVRO block at byte 0 of first does not fit.*ts is int64"
    ):
        read({"first": avro_block("1", rows(("a", 1, None)))}, schema=schema)
