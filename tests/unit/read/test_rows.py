"""Rows of slices with log files: which are merged, and what is not read for them."""

import json
import logging
import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyhudi
from pyhudi.config.options.merging import PARTIAL_UPDATE_PAYLOAD
from pyhudi.errors import (
    CorruptTableError,
    HudiError,
    MissingFileError,
    OptionError,
    UnsupportedError,
)
from pyhudi.logfile.merge.keyed_spill import KeyedSpill
from tests.support.base_files import spoil
from tests.support.log_files import avro_block, delete_block, rollback_block
from tests.support.mor_history import History
from tests.support.mor_table import (
    COMMIT_TIME,
    EVENT_TIME,
    NULLABLE,
    OWN,
    SCHEMA,
    MorTable,
    Row,
    moment,
    records,
)


def rows_at(instant: str, *rows: Row) -> bytes:
    """An Avro block of one write."""
    return avro_block(moment(instant), records(instant, *rows), SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> MorTable:
    """A file group of four rows in two row groups, written at 1."""
    made = MorTable.make(tmp_path / "t")
    made.base("f", "1", records("1", ("a", 5, "1"), ("b", 5, "1"), ("c", 5, "1"), ("d", 5, "1")))
    made.instant("1")
    return made


def read(table: MorTable, **query) -> list[str]:
    """Rows as ``a:name``, sorted."""
    query.setdefault("columns", ["id", "name"])
    for name in {"as_of", "begin", "end"} & query.keys():
        query[name] = moment(query[name])
    return named(pyhudi.read_table(table.path, **query))


def named(rows: pa.Table) -> list[str]:
    return sorted(f"{row['id']}:{row['name']}" for row in rows.to_pylist())


def test_log_records_change_delete_and_add_rows(table: MorTable) -> None:
    table.log("f", "1", rows_at("2", ("a", 6, "2"), ("b", 4, "2"), ("e", 1, "2")))
    table.log("f", "1", delete_block(moment("3"), "c"), version=2)
    table.commits("23")
    assert read(table) == ["a:2", "b:1", "d:1", "e:2"]
    assert read(table, query_type="read_optimized") == ["a:1", "b:1", "c:1", "d:1"]
    assert read(table, as_of="2") == ["a:2", "b:1", "c:1", "d:1", "e:2"]
    assert read(table, as_of="1") == ["a:1", "b:1", "c:1", "d:1"]


def test_blocks_of_unfinished_and_rolled_back_writes_change_nothing(table: MorTable) -> None:
    table.log("f", "1", rows_at("2", ("a", 9, "2")), rows_at("3", ("b", 9, "3")))
    taken_back = rows_at("4", ("c", 9, "4")), rollback_block(moment("5"), moment("4"))
    table.log("f", "1", *taken_back, version=2)
    table.instant("2", "deltacommit.inflight")
    table.commits("46")
    assert read(table) == ["a:1", "b:1", "c:1", "d:1"]


def test_a_slice_of_log_files_alone_is_read(table: MorTable) -> None:
    table.log("g", "2", rows_at("2", ("x", 1, "2"), ("y", 1, "2")), delete_block(moment("3"), "y"))
    table.commits("23")
    assert read(table) == ["a:1", "b:1", "c:1", "d:1", "x:2"]
    assert read(table, query_type="read_optimized") == ["a:1", "b:1", "c:1", "d:1"]


def test_log_files_of_a_pending_compaction_are_read_on_top_of_its_slice(table: MorTable) -> None:
    table.log("f", "1", rows_at("2", ("a", 6, "2")))
    table.instant("2")
    table.instant("3", "compaction.requested")
    table.log("f", "3", rows_at("4", ("a", 7, "4"), ("b", 7, "4")))
    table.instant("4")
    table.base("f", "3", records("1", ("a", 6, "half done")))
    assert read(table) == ["a:4", "b:4", "c:1", "d:1"]
    table.base("f", "3", records("1", ("a", 6, "2"), ("b", 5, "1"), ("c", 5, "1"), ("d", 5, "1")))
    table.instant("3", "commit")
    assert read(table) == ["a:4", "b:4", "c:1", "d:1"]
    assert read(table, query_type="read_optimized") == ["a:2", "b:1", "c:1", "d:1"]
    assert read(table, as_of="2") == ["a:2", "b:1", "c:1", "d:1"]


def test_filters_see_merged_rows_alone(table: MorTable) -> None:
    table.log("f", "1", rows_at("2", ("a", 6, "2"), ("b", 4, "2"), ("c", 6, None)))
    table.instant("2")
    assert read(table, filters=pc.field("name") == "1") == ["b:1", "d:1"]
    assert read(table, filters=pc.field("name") == "2") == ["a:2"]
    assert read(table, filters=pc.field("ts") > 5) == ["a:2", "c:None"]
    assert read(table, columns=["id", "name"], filters=pc.field("name").is_null()) == ["c:None"]


def test_row_groups_are_all_read_where_stored_rows_have_a_say(table: MorTable) -> None:
    """No stored row passes the filter, but one of them is newer than the log record that does."""
    table.log("f", "1", rows_at("2", ("a", 4, "2")))
    table.instant("2")
    assert read(table, filters=pc.field("name") == "2") == []


def test_row_groups_are_left_out_where_stored_rows_have_none(tmp_path: Path) -> None:
    made = MorTable.make(tmp_path / "t", hoodie_compaction_payload_class=COMMIT_TIME)
    base = made.base("f", "1", records("1", ("a", 1, "1"), ("b", 1, "1"), ("c", 9, "1")))
    made.log("f", "1", rows_at("2", ("a", 7, "2"), ("c", 0, "2"), ("x", 8, "2")))
    made.commits("12")
    spoil(base, row_group=0)
    assert read(made, filters=pc.field("ts") > 5) == ["a:2", "x:2"]
    with pytest.raises(HudiError):
        read(made)


def test_changes_since_an_instant_are_merged_with_themselves_alone(table: MorTable) -> None:
    """As in Hudi: a row that is older than the stored one is a change all the same."""
    table.log("f", "1", rows_at("2", ("a", 9, "2"), ("b", 4, "2")), delete_block(moment("3"), "c"))
    table.log("f", "1", rows_at("4", ("a", 8, "4")), version=2)
    table.commits("234")
    assert read(table, query_type="incremental", begin="1") == ["a:2", "b:2"]
    assert read(table, query_type="incremental", begin="2") == ["a:4"]
    assert read(table, query_type="incremental", begin="1", end="3") == ["a:2", "b:2"]
    assert read(table, query_type="incremental", begin="0") == ["a:2", "b:1", "d:1"]


def test_base_files_that_are_too_old_are_not_opened_for_changes(table: MorTable) -> None:
    (table.path / f"f_0-0-0_{moment('1')}.parquet").write_bytes(b"no Parquet file")
    table.log("f", "1", rows_at("2", ("a", 9, "2")))
    table.instant("2")
    assert read(table, query_type="incremental", begin="1") == ["a:2"]


def test_rows_of_an_older_schema_are_brought_to_the_tables(table: MorTable) -> None:
    older = {**SCHEMA, "fields": [*NULLABLE, OWN[0], {"name": "ts", "type": ["null", "int"]}]}
    written = [{k: v for k, v in r.items() if k != "name"} for r in records("2", ("a", 9, None))]
    table.log("f", "1", avro_block(moment("2"), written, older))
    table.instant("2")
    assert read(table) == ["a:None", "b:1", "c:1", "d:1"]


def test_keys_of_tables_without_meta_columns_are_made_of_the_rows(tmp_path: Path) -> None:
    made = MorTable.make(tmp_path / "t", hoodie_populate_meta_fields="false")
    made.base("f", "1", records("1", ("a", 1, "1"), ("b", 1, "1"), ("c", 1, "1"), has_meta=False))
    own = {**SCHEMA, "fields": OWN}
    changed = [{"id": "a", "ts": 2, "name": "2"}, {"id": "x", "ts": 2, "name": "2"}]
    made.log("f", "1", avro_block(moment("2"), changed, own), delete_block(moment("3"), "b"))
    made.commits("123")
    assert read(made) == ["a:2", "c:1", "x:2"]
    assert read(made, columns=["name", "id"]) == ["a:2", "c:1", "x:2"]
    assert pyhudi.read_table(made.path, columns=["name"]).num_rows == 3


def test_every_row_of_a_key_is_changed(table: MorTable) -> None:
    table.base("f", "1", records("1", ("a", 1, "1"), ("a", 2, "1"), ("b", 1, "1"), ("b", 1, "1")))
    table.log("f", "1", rows_at("2", ("a", 6, "2")), delete_block(moment("2"), "b"))
    table.instant("2")
    assert read(table) == ["a:2", "a:2"]


def test_a_torn_block_is_told_and_left_out(table: MorTable, caplog) -> None:
    block = rows_at("2", ("a", 6, "2"))
    table.log("f", "1", block, rows_at("3", ("b", 6, "3"))[:-3], rows_at("4", ("c", 6, "4")))
    table.commits("234")
    with caplog.at_level(logging.WARNING):
        assert read(table) == ["a:2", "b:1", "c:4", "d:1"]
    assert f"log.1_0-0-0: bytes {len(block)} to" in caplog.text


@pytest.mark.parametrize("query", [{}, {"columns": ["ts"]}, {"columns": ["_hoodie_commit_time"]}])
def test_batches_and_tables_hold_the_same(table: MorTable, query: dict) -> None:
    table.log("f", "1", rows_at("2", ("a", 6, "2"), ("x", 4, "2")))
    table.instant("2")
    whole = pyhudi.read_table(table.path, **query)
    batches = pyhudi.read_batches(table.path, **query).read_all()
    assert sorted(map(str, whole.to_pylist())) == sorted(map(str, batches.to_pylist()))
    assert whole.num_rows == 5


def test_a_damaged_block_is_an_error_that_names_it(table: MorTable) -> None:
    path = table.log("f", "1", rows_at("2", ("a", 6, "2")))
    path.write_bytes(path.read_bytes().replace(b'"record"', b'"recoil"', 1))
    table.instant("2")
    with pytest.raises(CorruptTableError, match=r"AVRO block at byte 0 of \.f_\d+\.log\.1_0-0-0"):
        read(table)


def test_a_log_file_that_vanished_is_told(table: MorTable, monkeypatch) -> None:
    path = table.log("f", "1", rows_at("2", ("a", 6, "2")))
    table.instant("2")
    batches = pyhudi.read_batches(table.path)
    path.unlink()
    with pytest.raises(MissingFileError, match=r"log\.1_0-0-0 is gone.*Retry"):
        batches.read_all()


GONE = "_hoodie_is_deleted"


class Sums:
    """Adds the ordering values of both rows and names the sum; one over 20 deletes."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        assert {"id", "ts", "name"} <= set(newer.column_names)
        total = pc.add(older.column("ts"), newer.column("ts"))
        at = newer.schema.get_field_index
        summed = newer.set_column(at("ts"), "ts", total)
        summed = summed.set_column(at("name"), "name", total.cast(pa.string()))
        return summed.set_column(at(GONE), GONE, pc.greater(total, 20))


def test_a_merger_in_python_that_the_query_names_merges(tmp_path: Path) -> None:
    merger = f"{__name__}:Sums"
    made = MorTable.merged_by(merger, tmp_path / "t")
    made.base("f", "1", records("1", ("a", 9, "1"), ("b", 9, "1"), ("c", 9, "1")))
    first = rows_at("2", ("a", 1, "2"), ("c", 12, "2"))
    made.log("f", "1", first, rows_at("3", ("a", 2, "3"), ("x", 30, "3")))
    made.commits("123")
    for memory in (None, 0):
        assert read(made, custom_merger=merger, merge_memory=memory) == ["a:12", "b:1", "x:3"]
    batches = pyhudi.read_batches(made.path, columns=["name"], custom_merger=merger)
    assert sorted(batches.read_all().column("name").to_pylist()) == ["1", "12", "3"]


def test_rows_of_a_changelog_that_delete_are_deletes(tmp_path: Path) -> None:
    made = MorTable.make(tmp_path / "t")
    made.base("f", "1", records("1", ("a", 1, "1"), ("b", 1, "1"), ("c", 9, "1")))
    operation = {"name": "_hoodie_operation", "type": ["null", "string"], "default": None}
    schema = {**SCHEMA, "fields": [*NULLABLE, operation, *OWN]}
    written = records("2", ("a", 2, "2"), ("b", 2, "2"), ("c", 2, "2"), ("x", 2, "2"))
    for row, done in zip(written, ["U", "D", "-U", "I"], strict=True):
        row["_hoodie_operation"] = done
    own = json.dumps({**SCHEMA, "fields": [operation, *OWN]})
    made.log("f", "1", avro_block(moment("2"), written, schema))
    made.instant("1")
    made.instant("2", body=json.dumps({"extraMetadata": {"schema": own}}))
    assert read(made) == ["a:2", "c:1", "x:2"]


def test_java_payloads_are_refused(tmp_path: Path) -> None:
    made = MorTable.make(tmp_path / "t", hoodie_compaction_payload_class="com.example.Payload")
    made.base("f", "1", records("1", ("a", 9, "1")))
    made.log("f", "1", rows_at("2", ("a", 1, "2")))
    made.commits("12")
    with pytest.raises(UnsupportedError, match=r"com\.example\.Payload"):
        read(made)


def rows_of(table: MorTable, **query) -> dict[str, Row]:
    found = pyhudi.read_table(table.path, columns=["name", "ts", "id"], **query).to_pylist()
    rows = {row["id"]: (row["id"], row["ts"], row["name"]) for row in found}
    assert len(rows) == len(found)
    return rows


@pytest.mark.parametrize("payload", [COMMIT_TIME, EVENT_TIME, PARTIAL_UPDATE_PAYLOAD])
@pytest.mark.parametrize("seed", range(25))
def test_any_history_reads_to_what_the_model_has(payload: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    history = History(chance, payload, tmp_path / "t")
    for time in "BCDEFGHIJ":
        step = history.compact if chance.random() < 0.15 else history.write
        step(time)
    now = history.model.read()
    assert rows_of(history.table) == now
    for time, state in history.states.items():
        assert rows_of(history.table, as_of=moment(time)) == state
    bound = chance.randint(0, 9)
    kept = {key: row for key, row in now.items() if row[1] >= bound}
    assert rows_of(history.table, filters=pc.field("ts") >= bound) == kept
    # Log records that wait on disk come to the same rows.
    assert rows_of(history.table, merge_memory=chance.choice([0, 1_000])) == now


def test_log_records_wait_on_disk_past_the_memory_that_is_given(
    table: MorTable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    changed = [(f"{n:05d}", 6, "2" * 50) for n in range(2_000)]
    table.log("f", "1", rows_at("2", ("a", 6, "2"), *changed))
    table.instant("2")
    spilled: list[int] = []
    add = KeyedSpill.add

    def counted(self: KeyedSpill, rows: pa.Table) -> None:
        spilled.append(rows.num_rows)
        add(self, rows)

    monkeypatch.setattr(KeyedSpill, "add", counted)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    at_once = read(table)
    assert not spilled
    assert read(table, merge_memory=50_000) == at_once
    batches = pyhudi.read_batches(table.path, columns=["id", "name"], merge_memory=50_000)
    assert named(batches.read_all()) == at_once
    assert sum(spilled) >= 2 * 2_000


@pytest.mark.parametrize("size", ["-1", "1 GB"])
def test_a_memory_that_is_no_number_of_bytes_is_refused(table: MorTable, size: str) -> None:
    with pytest.raises(OptionError, match="number of bytes"):
        pyhudi.read_table(table.path, merge_memory=size)
