"""Archiving after writes and by a job, and what is asked across the boundary."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import CorruptTableError, RequestError
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.table import load_table, open_table
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage
from tests.support.golden import expected_rows, golden_copy, row_texts
from tests.support.in_process import (
    APPENDED,
    ARCHIVING,
    NOW_MS,
    REWRITTEN,
    Options,
    Surroundings,
    archive,
    archived_in,
    clock_at,
    dead_write,
    leftovers,
    read_rows,
    read_tables,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

TYPES = pytest.mark.parametrize("options", [REWRITTEN, APPENDED], ids=["copied", "logged"])
HOUR_MS = 3_600_000
RETAINING_ONE = {"hoodie.clean.commits.retained": "1"}
KEY, SINCE = "pyhudi.idempotency.key", "pyhudi.idempotency.since"


def upsert(storage: MemoryStorage, clock: FakeClock, number: int, options: Options) -> JobResult:
    storage.now_ms = clock.now_ms()
    rows = {("x", f"k{number % 5}"): (number, f"v{number}")}
    return write(storage, rows, clock, "upsert", options)


def table_of(count: int, options: Options = REWRITTEN, *, pause_ms: int = 1) -> MemoryStorage:
    """A table with so many commits, none of which is archived."""
    storage, clock = MemoryStorage(now_ms=NOW_MS), clock_at()
    for number in range(count):
        upsert(storage, clock, number, {**options, "hoodie.archive.automatic": "false"})
        clock.advance(pause_ms)
    return storage


def writes_of(storage: MemoryStorage) -> list[str]:
    return [each.time for each in active_of(storage).load().write_instants()]


@TYPES
def test_a_hundred_small_upserts_leave_a_timeline_of_bounded_length(options: Options) -> None:
    compacting = {"hoodie.compact.inline": "true"} if options is APPENDED else {}
    storage, clock, most, made = MemoryStorage(now_ms=NOW_MS), clock_at(), 0, list[str]()
    for number in range(100):
        made.append(upsert(storage, clock, number, {**options, **compacting}).instant or "")
        on_timeline = [path for path in storage.below(".hoodie") if path.count("/") == 1]
        most = max(most, len(on_timeline))
    # At most 30 commits and 30 cleans of three files each, the properties, and a compaction.
    assert most <= 190
    assert len(storage.below(".hoodie/archived")) <= 10
    table = load_table(storage)
    archived = ArchivedTimeline.of(storage, table.config).load().write_instants()
    assert {*writes_of(storage), *(each.time for each in archived)} >= set(made)
    assert all(table.timeline.is_committed(time) for time in made)
    assert len(read_rows(storage)) == 5
    assert leftovers(storage) == []


def test_a_write_archives_unless_it_is_told_not_to() -> None:
    storage, clock = table_of(5), clock_at(NOW_MS + HOUR_MS)
    upsert(storage, clock, 6, {**REWRITTEN, **ARCHIVING, "hoodie.archive.automatic": "false"})
    assert len(writes_of(storage)) == 6
    result = upsert(storage, clock, 7, {**REWRITTEN, **ARCHIVING})
    assert len(writes_of(storage)) == 2
    assert "archive" in result.seconds


def test_what_fails_after_the_commit_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    storage, clock = table_of(5), clock_at(NOW_MS + HOUR_MS)
    first = writes_of(storage)[0]
    storage.put(f".hoodie/{first}.inflight", b"{ no JSON")
    result = upsert(storage, clock, 7, {**REWRITTEN, **ARCHIVING})
    assert result.status == "committed"
    assert "the write is committed, but not archived" in caplog.text
    assert first in caplog.text


def test_the_job_says_what_it_archived_or_would() -> None:
    storage, clock = table_of(6), clock_at(NOW_MS + HOUR_MS)
    before, first = dict(storage.files), writes_of(storage)[:4]
    look = look_at(storage)
    assert storage.files == before
    assert look.status == "planned"
    assert list(look.by_instant) == first
    assert look.by_instant[first[0]]["action"] == "commit"
    sizes = [len(data) for path, data in before.items() if path.startswith(f".hoodie/{first[0]}")]
    assert look.by_instant[first[0]]["files"] == len(sizes) == 3
    assert look.by_instant[first[0]]["bytes"] == sum(sizes)
    result = archive(storage, clock)
    assert (result.status, result.operation, result.instant) == ("archived", "archive", None)
    assert result.files == {"instants": 4, "deleted": 12, "created": 1}
    assert result.bytes_written == len(storage.files[storage.below(".hoodie/archived")[0]])
    again = archive(storage, clock)
    assert again.status == "nothing_to_do"
    assert "no more than 3 commits" in (again.reason or "")


def look_at(storage: MemoryStorage) -> JobResult:
    request = ArchiveRequest(base_path=storage.uri, hoodie_conf=ARCHIVING, dry_run=True)
    return archive_table(Surroundings(clock_at()).environment(storage), request)


def test_every_file_of_an_instant_is_archived_with_when_it_was_written() -> None:
    storage = table_of(6)
    active = active_of(storage)
    wanted = {
        (file.instant.time, file.instant.state.name): file.written for file in active.state_files()
    }
    archive(storage, clock_at(NOW_MS + HOUR_MS))
    found = {(each.time, each.state): each.transition_time for each in archived_in(storage)}
    assert len(found) == 12
    assert found.items() <= wanted.items()


def test_checksums_that_hadoop_left_beside_instants_go_with_them() -> None:
    storage = table_of(6)
    first = writes_of(storage)[0]
    for name in (f"{first}.commit", f"{first}.inflight"):
        storage.put(f".hoodie/.{name}.crc", b"crc")
    archive(storage, clock_at(NOW_MS + HOUR_MS))
    assert not [path for path in storage.files if path.endswith(".crc")]


def test_what_the_metadata_table_of_hudi_needs_stays(tmp_path: Path) -> None:
    """Its log files since its last compaction count by the timeline of the table."""
    folder = golden_copy("v6_cow_archived", tmp_path)
    request = ArchiveRequest(
        base_path=str(folder), least_commits="1", most_commits="2", hoodie_conf=RETAINING_ONE
    )
    before = open_table(folder).timeline
    compacted = folder / ".hoodie" / "metadata" / ".hoodie" / "20261121105157118001.commit"
    aside = compacted.rename(tmp_path / "aside")
    environment = environment_on(InProcessRunner())
    assert archive_table(environment, request).status == "nothing_to_do"
    aside.rename(compacted)
    assert archive_table(environment, request).status == "archived"
    table = open_table(folder)
    assert len(table.timeline.write_instants()) == 2
    assert table.config.metadata_partitions
    assert row_texts(pyhudi.read_table(folder)) == expected_rows("v6_cow_archived")
    archived = ArchivedTimeline.of(table.storage, table.config)
    assert archived.files()[0].number == 6
    assert {*before} <= {*archived.load(), *table.timeline}


def test_an_instant_that_cannot_be_read_stops_archiving_or_loses_its_body() -> None:
    storage, clock = table_of(6), clock_at(NOW_MS + HOUR_MS)
    first = writes_of(storage)[0]
    storage.put(f".hoodie/{first}.commit", b"{ no JSON")
    with pytest.raises(CorruptTableError, match=first):
        archive(storage, clock)
    assert writes_of(storage)[0] == first
    archive(storage, clock, hoodie__fail__on__timeline__archiving="false")
    assert first not in writes_of(storage)
    (kept,) = (each for each in archived_in(storage) if each.identity[::2] == (first, "COMPLETED"))
    assert kept.metadata is None


def test_a_dead_write_is_kept_until_it_is_undone() -> None:
    storage = table_of(4)
    died = dead_write(storage, {("x", "k0"): (50, "died")}, clock_at(NOW_MS + 60_000))
    before = writes_of(storage)
    archive(storage, clock_at(NOW_MS + HOUR_MS))
    assert writes_of(storage) == before[-3:]
    assert before[-1] == died
    assert archive(storage, clock_at(NOW_MS + HOUR_MS)).status == "nothing_to_do"


def test_many_instants_are_cut_into_several_archive_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyhudi.services.archive._MOST_BYTES", 4_000)
    monkeypatch.setattr("pyhudi.pipeline.archive._FILES_A_TASK", 2)
    storage = table_of(8)
    result = archive(storage, clock_at(NOW_MS + HOUR_MS))
    assert result.files["instants"] == 6
    assert result.files["created"] == len(storage.below(".hoodie/archived")) > 2
    assert len({each.identity for each in archived_in(storage)}) == 18
    assert len(writes_of(storage)) == 2


@TYPES
def test_a_retry_finds_its_commit_in_the_archive(options: Options) -> None:
    storage, clock = MemoryStorage(now_ms=NOW_MS), clock_at()
    keyed = {**options, **ARCHIVING, KEY: "mine", SINCE: "2026-01-01T00:00:00Z"}
    landed = upsert(storage, clock, 1, keyed)
    for number in range(2, 9):
        upsert(storage, clock, number, {**options, **ARCHIVING})
    assert landed.instant not in writes_of(storage)
    before = read_rows(storage)
    again = upsert(storage, clock, 1, keyed)
    assert (again.status, again.instant) == ("already_committed", landed.instant)
    assert (again.records, again.files, again.partitions) == (
        landed.records,
        landed.files,
        landed.partitions,
    )
    assert again.completion_time == landed.completion_time
    assert read_rows(storage) == before
    # A day passes; who gives no time is still found, and who began later is not.
    other = {**options, **ARCHIVING, KEY: "mine"}
    assert upsert(storage, clock, 1, other).status == "already_committed"
    clock.advance(30 * HOUR_MS)
    assert upsert(storage, clock, 1, other).status == "committed"


def test_of_the_archive_only_what_is_new_enough_is_opened() -> None:
    storage, clock = table_of(6), clock_at(NOW_MS + 20 * HOUR_MS)
    archive(storage, clock)
    for number in range(6):
        upsert(storage, clock, number, {**REWRITTEN, **ARCHIVING})
        clock.advance(HOUR_MS)
    assert len(storage.below(".hoodie/archived")) > 2
    newest = set(storage.below(".hoodie/archived")[-1:])
    for since, opened in (("2026-01-02T03:00:00Z", set()), ("2026-01-02T00:10:00Z", newest)):
        looking = Opened(storage)
        upsert(looking, clock, 1, {**REWRITTEN, KEY: since, SINCE: since})
        assert looking.archives == opened, since


class Opened(MemoryStorage):
    """A storage that notes which archive files are read."""

    def __init__(self, storage: MemoryStorage) -> None:
        super().__init__(storage.files, storage.now_ms)
        self.times = dict(storage.times)
        self.archives: set[str] = set()

    def read(self, path: str) -> bytes:
        if path.startswith(".hoodie/archived/"):
            self.archives.add(path)
        return super().read(path)


@TYPES
def test_changes_since_an_archived_commit_are_all_that_came_after_it(options: Options) -> None:
    storage = table_of(8, options)
    times = writes_of(storage)
    wanted = {begin: changed_since(storage, begin) for begin in ("000", *times)}
    archive(storage, clock_at(NOW_MS + HOUR_MS))
    assert times[3] not in writes_of(storage)
    for begin, rows in wanted.items():
        assert changed_since(storage, begin) == rows, begin


def changed_since(storage: MemoryStorage, begin: str) -> list[str]:
    found = read_tables(storage, query_type="incremental", begin=begin)
    return sorted(value for part in found for value in part["value"].to_pylist())


def test_a_time_before_the_archive_ends_is_refused_but_for_what_is_saved() -> None:
    storage = table_of(8)
    times = writes_of(storage)
    saved = Instant(time=times[1], action=Action.SAVEPOINT, state=State.COMPLETED)
    storage.put(f".hoodie/{saved.time}.savepoint", b"")
    before = read_rows(storage, as_of=saved.time)
    archive(storage, clock_at(NOW_MS + HOUR_MS), hoodie__archive__beyond__savepoint="true")
    assert writes_of(storage) == [times[1], times[-1]]
    assert read_rows(storage, as_of=saved.time) == before
    for gone in (times[0], times[3]):
        with pytest.raises(RequestError, match=f"commits before {times[-1]} are archived"):
            read_rows(storage, as_of=gone)


def test_a_savepoint_that_comes_meanwhile_keeps_its_commit() -> None:
    storage = table_of(6)
    times = writes_of(storage)

    class Saving(FaultyStorage):
        """Others save a commit as soon as it is in the archive."""

        def create(self, path: str, data: bytes) -> None:
            super().create(path, data)
            if "archived" in path:
                storage.put(f".hoodie/{times[1]}.savepoint", b"")

    archive(Saving(storage, Faults(Fault.NONE)), clock_at(NOW_MS + HOUR_MS))
    assert writes_of(storage) == times[1:]
    assert {each.time for each in archived_in(storage)} >= {times[0]}


def test_readers_step_over_what_is_archived_while_they_look(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The metadata of an overwrite, of commits that sizes are learnt from, and of earlier tries."""
    caplog.set_level(logging.ERROR)
    storage, clock = table_of(6), clock_at(NOW_MS + HOUR_MS)
    for act in (
        lambda own: read_rows(own),
        lambda own: write(
            own, {("x", "k1"): (70, "new")}, clock, "upsert", {**REWRITTEN, KEY: "n"}
        ),
    ):
        assert_steps_over(storage, act)


def assert_steps_over(storage: MemoryStorage, act: Callable[[MemoryStorage], object]) -> None:
    first = writes_of(storage)[0]

    class Vanishing(MemoryStorage):
        """The first commit goes once the timeline was listed."""

        def list(self, path: str):  # type: ignore[no-untyped-def]
            found = super().list(path)
            for name in (f"{first}.commit.requested", f"{first}.inflight", f"{first}.commit"):
                self.delete(f".hoodie/{name}")
            return found

    copy = Vanishing(storage.files, storage.now_ms)
    copy.times = dict(storage.times)
    act(copy)
