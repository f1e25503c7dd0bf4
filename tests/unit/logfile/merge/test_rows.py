"""Stored rows beside log records."""

import pyarrow as pa
import pytest

from pyhudi.config.options.logs import DEFAULT_MEMORY, MergeMemory
from pyhudi.logfile.deletes.blocks import OrderingKind
from pyhudi.logfile.merge.log_records import LogRecords
from pyhudi.logfile.merge.records import merge_log_records
from pyhudi.logfile.merge.rows import merged_parts
from pyhudi.merge.rule import MergeRule
from tests.support.log_files import deletes
from tests.support.tasks import COMMIT_TIME, EVENT_TIME, PARTIAL
from tests.unit.logfile.merge.test_records import SCHEMA, table

STORED = [("a", 5, "1"), ("b", 5, "1"), ("c", 5, "1"), ("d", 5, None)]


def keys_of(rows: pa.Table) -> pa.ChunkedArray:
    return rows.column("key")


def merged(rule: MergeRule, *parts, stored=STORED) -> list[str]:
    """The rows of a slice as ``a 5 1``, whose stored rows come two at a time.

    Whether the log records are in memory or on disk.
    """
    found = []
    for memory in (DEFAULT_MEMORY, MergeMemory(limit_bytes=0)):
        records = merge_log_records(parts, SCHEMA, keys_of, rule, memory)
        batches = [table(*stored[at : at + 2]) for at in range(0, len(stored), 2)]
        rows = merged_rows(batches, records, rule)
        assert rows.schema == SCHEMA
        found.append(sorted(f"{row['key']} {row['ts']} {row['name']}" for row in rows.to_pylist()))
    assert found[0] == found[1]
    return found[0]


def merged_rows(stored: list[pa.Table], records: LogRecords, rule: MergeRule) -> pa.Table:
    return pa.concat_tables(part.rows for part in merged_parts(stored, records, keys_of, rule))


def test_without_records_rows_stay_as_they_are() -> None:
    assert merged(EVENT_TIME) == ["a 5 1", "b 5 1", "c 5 1", "d 5 None"]


def test_deletes_are_weighed_against_stored_rows_unless_they_are_final() -> None:
    weighed = deletes(("a", OrderingKind.LONG, 4), ("b", OrderingKind.LONG, 5))
    final = deletes(("c", OrderingKind.INT, 0), ("x", OrderingKind.INT, 0))
    assert merged(EVENT_TIME, weighed, final) == ["a 5 1", "d 5 None"]
    assert merged(COMMIT_TIME, weighed, final) == ["d 5 None"]


def test_every_stored_row_of_a_key_is_changed() -> None:
    twice = [("a", 1, "1"), ("a", 9, "1"), ("b", 1, "1"), ("b", 2, "1")]
    final = deletes(("b", OrderingKind.INT, 0))
    assert merged(EVENT_TIME, table(("a", 5, "2")), final, stored=twice) == ["a 5 2", "a 9 1"]


def test_rows_that_delete_take_their_key_with_them() -> None:
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    rows = table(("a", 6, "2"), ("b", 4, "2"), ("x", 1, "2"))
    rows = rows.append_column("_hoodie_is_deleted", pa.array([True, True, True]))
    records = merge_log_records([rows], schema, keys_of, EVENT_TIME)
    stored = table(*STORED).append_column("_hoodie_is_deleted", pa.array([None] * 4, pa.bool_()))
    found = merged_rows([stored], records, EVENT_TIME)
    assert sorted(found.column("key").to_pylist()) == ["b", "c", "d"]


@pytest.mark.parametrize("rule", [EVENT_TIME, COMMIT_TIME, PARTIAL])
def test_a_slice_without_stored_rows_has_its_log_rows(rule: MergeRule) -> None:
    records = merge_log_records([table(("a", 1, "2"))], SCHEMA, keys_of, rule)
    assert merged_rows([], records, rule).to_pylist() == [{"key": "a", "ts": 1, "name": "2"}]
