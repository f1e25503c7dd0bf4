"""Incremental queries of tables whose instants say when they were completed."""

import json
import logging
import os
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.errors import ConflictError, CorruptTableError, RequestError
from tests.support.golden import golden_copy
from tests.support.log_files import avro_block, delete_block
from tests.support.mor_table import SCHEMA, MorTable, Row, moment, records


def rows_at(instant: str, *rows: Row) -> bytes:
    """An Avro block of one write."""
    return avro_block(moment(instant), records(instant, *rows), SCHEMA)


@pytest.fixture
def table(tmp_path: Path) -> MorTable:
    """A file group to which three writes appended, of which the first ended last.

    Written at 1 (ended 2), and then at 3 (ended 9), 4 (ended 5) and 6 (ended 7).
    """
    made = MorTable.of_version_9(tmp_path / "t")
    made.base("f", "1", records("1", ("a", 1, "1"), ("b", 1, "1"), ("c", 1, "1"), ("d", 1, "1")))
    for time, row in {"3": ("a", 3, "3"), "4": ("b", 4, "4"), "6": ("c", 6, "6")}.items():
        made.log("f", time, rows_at(time, row))
    for time, ended in {"1": "2", "3": "9", "4": "5", "6": "7"}.items():
        made.instant(time, ended=ended)
    return made


def changed(table: MorTable, begin: str, end: str | None = None) -> list[str]:
    """Names of the rows of an incremental query, sorted."""
    found = pyhudi.read_table(
        table.path,
        query_type="incremental",
        begin=begin if begin == "000" else moment(begin),
        end=end and moment(end),
    )
    return sorted(f"{row['id']}:{row['name']}" for row in found.to_pylist())


@pytest.mark.parametrize(
    ("begin", "end", "found"),
    [
        ("000", None, ["a:3", "b:4", "c:6", "d:1"]),
        ("000", "5", ["a:1", "b:4", "c:1", "d:1"]),
        ("2", None, ["a:3", "b:4", "c:6"]),
        ("2", "7", ["b:4", "c:6"]),
        ("5", "7", ["c:6"]),
        ("5", None, ["a:3", "c:6"]),
        ("7", None, ["a:3"]),
        ("9", None, []),
        ("1", "2", ["a:1", "b:1", "c:1", "d:1"]),
        ("1", "1", []),
    ],
)
def test_commits_are_chosen_by_when_they_were_completed(
    table: MorTable, begin: str, end: str | None, found: list[str]
) -> None:
    assert changed(table, begin, end) == found


def test_who_goes_on_from_the_end_of_each_query_misses_nothing(table: MorTable) -> None:
    steps = ["000", *"2579"]
    found = [name for begin, end in pairwise(steps) for name in changed(table, begin, end)]
    assert found == ["a:1", "b:1", "c:1", "d:1", "b:4", "c:6", "a:3"]


def test_a_write_that_has_not_finished_holds_no_incremental_query_up(table: MorTable) -> None:
    table.instant("5", "deltacommit.inflight")
    table.log("f", "5", rows_at("5", ("d", 5, "5")))
    assert changed(table, "2") == ["a:3", "b:4", "c:6"]
    with pytest.raises(ConflictError, match="has not finished"):
        pyhudi.read_table(table.path, as_of=moment("6"))


def test_an_instant_of_before_an_upgrade_was_completed_when_its_file_was_written(
    table: MorTable,
) -> None:
    timeline = table.path / ".hoodie" / "timeline"
    (named,) = timeline.glob(f"{moment('4')}_*")
    unnamed = named.rename(timeline / f"{moment('4')}.deltacommit")
    midnight = datetime(2026, 1, 1).astimezone().timestamp()
    os.utime(unnamed, (midnight, midnight + 0.0085))
    (found,) = (i for i in pyhudi.open_table(table.path).timeline if i.time == moment("4"))
    assert (found.completion_time, found.is_unnamed) == (moment("8"), True)
    assert changed(table, "7", "8") == ["b:4"]
    assert changed(table, "2", "7") == ["c:6"]


def test_time_travel_goes_by_when_writes_were_requested(table: MorTable) -> None:
    found = pyhudi.read_table(table.path, as_of=moment("4"))
    assert sorted(found["name"].to_pylist()) == ["1", "1", "3", "4"]


def test_a_write_that_ended_after_a_compaction_began_is_on_top_of_it(table: MorTable) -> None:
    table.base("f", "8", records("4", ("a", 1, "1"), ("b", 4, "4"), ("c", 6, "6"), ("d", 1, "1")))
    table.instant("8", "commit", ended="a")
    (found,) = pyhudi.open_table(table.path).latest_slices()
    assert [log.name.base_instant for log in found.log_files] == [moment("3")]
    rows = pyhudi.read_table(table.path)
    assert sorted(rows["name"].to_pylist()) == ["1", "3", "4", "6"]


def test_a_log_file_of_a_completed_write_that_is_gone_is_missed(table: MorTable) -> None:
    table.instant("4", body=_stat(table, "4"), ended="5")
    (path,) = table.path.glob(f".f_{moment('4')}*")
    assert len(pyhudi.read_table(table.path)) == 4
    path.unlink()
    with pytest.raises(CorruptTableError, match="rows that were committed are lost"):
        pyhudi.read_table(table.path)
    assert len(pyhudi.read_table(table.path, skip_damaged=True)) == 4


def _stat(table: MorTable, time: str) -> str:
    (path,) = table.path.glob(f".f_{moment(time)}*")
    stat = {
        "fileId": "f",
        "path": path.name,
        "logOffset": 0,
        "totalWriteBytes": path.stat().st_size,
        "logFiles": [path.name],
    }
    return json.dumps({"partitionToWriteStats": {"": [stat]}})


def test_a_log_file_that_was_compacted_may_be_gone(table: MorTable) -> None:
    table.instant("4", body=_stat(table, "4"), ended="5")
    table.base("f", "8", records("4", ("a", 3, "3"), ("b", 4, "4"), ("c", 6, "6"), ("d", 1, "1")))
    table.instant("8", "commit", ended="a")
    (path,) = table.path.glob(f".f_{moment('4')}*")
    path.unlink()
    assert sorted(pyhudi.read_table(table.path)["name"].to_pylist()) == ["1", "3", "4", "6"]


def test_what_a_pending_write_left_is_not_read(table: MorTable) -> None:
    table.instant("5", "deltacommit.inflight")
    table.log("f", "5", b"no block at all")
    table.log("f", "7", delete_block(moment("7"), "d"))
    assert len(pyhudi.read_table(table.path)) == 4


def test_archived_commits_of_the_range_are_found_in_the_history(tmp_path: Path) -> None:
    golden = golden_copy("v9_cow_archived", tmp_path)
    timeline, history = golden / ".hoodie/timeline", pq.read_table
    (file, *_) = sorted((timeline / "history").glob("*.parquet"))
    archived = history(file, columns=["instantTime", "completionTime", "action"]).to_pylist()
    writes = {r["instantTime"]: r["completionTime"] for r in archived if r["action"] == "commit"}
    first = min(writes.values())
    found = pyhudi.read_table(golden, query_type="incremental", begin=first)
    times = set(found["_hoodie_commit_time"].to_pylist())
    assert min(writes, key=writes.__getitem__) not in times
    everything = set(pyhudi.read_table(golden)["_hoodie_commit_time"].to_pylist())
    assert times == everything - {min(writes, key=writes.__getitem__)}


def test_the_end_of_a_range_whose_files_were_cleaned_is_refused(tmp_path: Path) -> None:
    golden = golden_copy("v9_cow_archived", tmp_path)
    first = min(
        each.completion_time or ""
        for each in pyhudi.open_table(golden).timeline.write_instants().completed()
    )
    with pytest.raises(RequestError, match="has been cleaned"):
        pyhudi.read_table(golden, query_type="incremental", begin="000", end=first)


def test_a_range_before_the_first_commit_is_told(table: MorTable, caplog) -> None:
    with caplog.at_level(logging.WARNING):
        assert changed(table, "000", "0") == []
    assert "before the first commit" in caplog.text
