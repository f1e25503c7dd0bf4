"""Archiving in versions 8 and 9: into the history, and what is asked across the boundary."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.actions.history_row import HistoryRow
from pyhudi.errors import CorruptTableError
from pyhudi.jobs.result import JobResult
from pyhudi.storage.schemes import open_storage
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.history_writing import append, base_of
from pyhudi.table.table import open_table
from pyhudi.timeline.instant import Action
from tests.support.golden import golden_copy, golden_table
from tests.support.in_process import (
    ARCHIVING,
    NOW_MS,
    REWRITTEN,
    archive,
    archived_in,
    clock_at,
    leftovers,
    read_rows,
    read_tables,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

NINE = {**REWRITTEN, "hoodie.write.table.version": "9"}
KEY, SINCE = "pyhudi.idempotency.key", "pyhudi.idempotency.since"
CLEANING = {"hoodie.clean.commits.retained": "1", "hoodie.clean.automatic": "true"}
HISTORY = ".hoodie/timeline/history"
HOUR_MS = 3_600_000


def upsert(storage: MemoryStorage, number: int, **more: str) -> JobResult:
    clock = clock_at(NOW_MS + number * 10_000)
    storage.now_ms = clock.now_ms()
    named = {name.replace("__", "."): value for name, value in more.items()}
    rows = {("x", f"k{number % 5}"): (number, f"v{number}")}
    return write(storage, rows, clock, "upsert", {**NINE, **named})


def table_of(count: int, **more: str) -> MemoryStorage:
    storage = MemoryStorage(now_ms=NOW_MS)
    for number in range(count):
        upsert(storage, number, hoodie__archive__automatic="false", **more)
    return storage


def writes_of(storage: MemoryStorage) -> list[str]:
    return [each.time for each in active_of(storage).load().write_instants()]


def changed_since(storage: MemoryStorage, begin: str) -> list[str]:
    found = read_tables(storage, query_type="incremental", begin=begin)
    return sorted(value for part in found for value in part["value"].to_pylist())


def test_a_retry_finds_its_commit_in_the_history() -> None:
    storage, few = MemoryStorage(now_ms=NOW_MS), {**NINE, **ARCHIVING}
    keyed = {**few, KEY: "mine", SINCE: "2026-01-01T00:00:00Z"}
    landed = write(storage, {("x", "a"): (1, "one")}, clock_at(), "upsert", keyed)
    for number in range(2, 26):
        write(storage, {("x", "b"): (1, "x")}, clock_at(NOW_MS + number * 10_000), options=few)
    assert landed.instant not in writes_of(storage)
    assert [path for path in storage.below(HISTORY) if path.endswith("_1.parquet")]
    later = clock_at(NOW_MS + HOUR_MS)
    again = write(storage, {("x", "a"): (1, "one")}, later, "upsert", keyed)
    assert (again.status, again.instant) == ("already_committed", landed.instant)
    assert again.completion_time == landed.completion_time
    assert (again.records, again.files) == (landed.records, landed.files)
    assert leftovers(storage) == []


def test_changes_since_an_archived_commit_are_all_that_came_after_it() -> None:
    storage = table_of(8)
    ended = [each.completion_time or "" for each in active_of(storage).load().write_instants()]
    wanted = {begin: changed_since(storage, begin) for begin in ("000", *ended)}
    rows = read_rows(storage)
    archive(storage, clock_at(NOW_MS + HOUR_MS))
    assert len(writes_of(storage)) == 2
    for begin, changed in wanted.items():
        assert changed_since(storage, begin) == changed, begin
    assert read_rows(storage) == rows


def test_cleans_leave_with_the_commits_that_are_later() -> None:
    """Source: TimelineArchiverV2.getCleanAndRollbackInstantsToArchive, Hudi 1.1."""
    storage = table_of(7, **{name.replace(".", "__"): v for name, v in CLEANING.items()})
    before = active_of(storage).load()
    cleans = [each.time for each in before if each.action is Action.CLEAN]
    archive(storage, clock_at(NOW_MS + HOUR_MS))
    left = [each.time for each in active_of(storage).load() if each.action is Action.CLEAN]
    last_gone = max({each.time for each in before} - set(writes_of(storage)) - set(cleans))
    assert left == [time for time in cleans if time > last_gone]
    assert 0 < len(left) < len(cleans)
    archived = [each for each in archived_in(storage) if each.action == "clean"]
    assert [each.time for each in archived] == cleans[: len(archived)]


def test_an_instant_that_cannot_be_read_stops_archiving_or_loses_its_body() -> None:
    storage = table_of(6)
    (path,) = (
        path
        for path in storage.below(".hoodie/timeline")
        if writes_of(storage)[0] in path and path.endswith(".commit")
    )
    storage.put(path, b"{ no JSON")
    first = writes_of(storage)[0]
    with pytest.raises(CorruptTableError, match=first):
        archive(storage, clock_at(NOW_MS + HOUR_MS))
    assert writes_of(storage)[0] == first
    archive(storage, clock_at(NOW_MS + HOUR_MS), hoodie__fail__on__timeline__archiving="false")
    assert first not in writes_of(storage)
    (kept,) = (each for each in archived_in(storage) if each.time == first)
    assert kept.metadata is None


@pytest.mark.parametrize("name", ["v8_cow_archived", "v9_cow_archived"])
def test_a_file_of_instants_is_one_of_hudi_s(name: str, tmp_path: Path) -> None:
    table = open_table(golden_table(name))
    hudi_s = golden_table(name) / HISTORY
    newest = max(path for path in hudi_s.glob("*.parquet"))
    told = pq.read_table(newest)
    rows = [
        HistoryRow(
            time=row["instantTime"],
            completion_time=row["completionTime"],
            action=row["action"],
            metadata=row["metadata"],
            plan=row["plan"],
        )
        for row in told.to_pylist()
    ]
    own = ArchivedTimeline.of(open_storage(str(tmp_path)), table.config).history
    (file,) = append(own, base_of(own), rows).manifest.files
    made = tmp_path / HISTORY / file.name
    assert file.name == newest.name
    assert pq.read_table(made).equals(told)
    mine, theirs = pq.ParquetFile(made), pq.ParquetFile(newest)
    assert mine.metadata.metadata == theirs.metadata.metadata
    columns = [
        [(c.name, c.physical_type, c.logical_type.type, c.max_definition_level) for c in found]
        for found in ([f.schema.column(n) for n in range(6)] for f in (mine, theirs))
    ]
    assert columns[0] == columns[1]
    assert mine.metadata.row_group(0).column(0).compression == "GZIP"


def test_what_hudi_archived_is_gone_on_from(tmp_path: Path) -> None:
    folder = golden_copy("v9_cow_archived", tmp_path)
    before = {each.identity for each in archived_in(open_storage(str(folder)))}
    table = open_table(folder)
    timeline = {each.identity for each in table.timeline}
    rows = pa.concat_tables(read_tables(table.storage)).num_rows
    result = archive(table.storage, clock_at())
    assert result.status == "archived"
    found = [each.identity for each in archived_in(table.storage)]
    assert len(found) == len(set(found))
    assert {(time, action) for time, action, _ in found} == {
        *((time, action) for time, action, _ in before),
        *(timeline - {each.identity for each in open_table(folder).timeline}),
    }
    assert not (folder / HISTORY / "_version_").exists()
    assert not (folder / HISTORY / "._version_.crc").exists()
    assert pa.concat_tables(read_tables(open_table(folder).storage)).num_rows == rows
