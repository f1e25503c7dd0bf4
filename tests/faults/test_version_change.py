"""A change of the table version that stops anywhere, or meets others, loses nothing."""

from contextlib import suppress

import pytest

from pyhudi.actions.commit import ReplaceCommitMetadata
from pyhudi.config.versions import TableVersion
from pyhudi.errors import ConflictError, HudiError, UnsupportedError, WriterAtWorkError
from pyhudi.pipeline.version_change import ChangedVersion, change_table_version
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action
from tests.support.clocks import FakeClock
from tests.support.crashes import World, course_of
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, bury
from tests.support.in_process import (
    APPENDED,
    ARCHIVING,
    NOW_MS,
    REWRITTEN,
    Surroundings,
    archived_in,
    cleaning,
    clock_at,
    compaction,
    data_files,
    dead_write,
    leftovers,
    outcome,
    read_rows,
    restore,
    run_pending,
    savepoint,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.orders import WAIT
from tests.support.points import IS_WHOLE
from tests.support.schedule import TurnStorage, random_orders, run_in_turns

pytestmark = pytest.mark.usefixtures("no_waiting")
WAYS = [(6, 8), (6, 9), (9, 6), (8, 6), (8, 9), (9, 8)]
DENSE = WAYS if IS_WHOLE else [(6, 9), (9, 6), (8, 9)]
LOGGED = [(6, 9), (8, 9), (9, 8), (6, 8)] if IS_WHOLE else [(6, 9), (9, 8)]
KEPT = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
LATER_MS = NOW_MS + 1_000_000
NEW = {("x", "k9"): (99, "new")}
OLD_FILES = {6: ".hoodie/timeline/", 8: ".hoodie/2", 9: ".hoodie/2"}
"""Where the instants of the other layout would lie in a table of a version."""


def change(storage: Storage, to: int, at_ms: int = LATER_MS, **options: str) -> ChangedVersion:
    environment = Surroundings(clock_at(at_ms)).environment(storage)
    is_upgrade = to >= load_table(storage).config.version.value
    chosen = {WAIT: "0", **{name.replace("__", "."): value for name, value in options.items()}}
    return change_table_version(
        environment, storage.uri, TableVersion(to), chosen, is_upgrade=is_upgrade
    )


def made(version: int) -> MemoryStorage:
    """A table with an archive, cleans, an overwrite and a savepoint."""
    storage = MemoryStorage(now_ms=NOW_MS)
    options = {**REWRITTEN, **ARCHIVING, "hoodie.write.table.version": str(version)}
    options |= {"hoodie.clean.automatic": "true"}
    for number in range(8):
        clock = clock_at(NOW_MS + number * 10_000)
        storage.now_ms = clock.now_ms()
        operation = "insert_overwrite" if number == 2 else "upsert"
        write(storage, {("x", f"k{number % 5}"): (number, "v")}, clock, operation, options)
    savepoint(storage, clock_at(NOW_MS + 90_000))
    storage.now_ms = LATER_MS - 1
    return storage


def made_with_logs(version: int) -> MemoryStorage:
    """A table with log files on three slices, of them one below a planned compaction."""
    storage = MemoryStorage(now_ms=NOW_MS)
    options = {**APPENDED, **KEPT, "hoodie.write.table.version": str(version)}

    def at(number: int) -> FakeClock:
        storage.now_ms = NOW_MS + number * 10_000
        return clock_at(storage.now_ms)

    for number in range(6):
        added = {(part, f"k{number % 3}"): (number, f"v{number}") for part in "xy"}
        write(storage, added, at(number), options=options)
        if number == 2:
            compaction(storage, at(3)).schedule_and_execute()
    savepoint(storage, at(60))
    write(storage, {("x", "k1"): (9, "gone")}, at(61), "delete", options)
    compaction(storage, at(62)).schedule()
    write(storage, {("x", "k2"): (20, "on top")}, at(63), options=options)
    storage.now_ms = LATER_MS - 1
    return storage


def check_compacted(storage: MemoryStorage, version: int, instants: set[tuple[str, str]]) -> None:
    """A table with log files that has another version."""
    table = load_table(storage)
    assert table.config.version.value == version
    assert not [each for each in table.latest_slices() if each.log_files]
    assert told(storage) >= instants
    assert leftovers(storage) == []


def told(storage: Storage) -> set[tuple[str, str]]:
    """The instants that were completed, archived or not, rollbacks aside."""
    archived = {(each.time, each.action) for each in archived_in(storage) if is_done(each.state)}
    active = {each.identity for each in load_table(storage).timeline.completed()}
    assert not archived & active
    return {each for each in archived | active if each[1] != Action.ROLLBACK.value}


def what_of(commit: ReplaceCommitMetadata) -> object:
    """What the archives of both layouts keep of a write."""
    extra = {k: v for k, v in commit.commit.extra_metadata.items() if k != "ROLLING_STAT"}
    stats = [
        (stat.path, stat.prev_commit, stat.num_writes, stat.num_inserts, stat.file_size_bytes)
        for stat in commit.commit.write_stats
    ]
    return commit.commit.operation_type, extra, stats


def is_done(state: str) -> bool:
    return state == "COMPLETED"


def check(storage: MemoryStorage, version: int, told_before: object, rows: object) -> None:
    assert load_table(storage).config.version.value == version
    assert read_rows(storage) == rows
    assert told(storage) == told_before
    assert leftovers(storage) == []
    assert not [path for path in storage.files if path.startswith(OLD_FILES[version])]
    archived = ".hoodie/timeline/history" if version == 6 else ".hoodie/archived"
    assert not storage.below(archived)


@pytest.mark.parametrize(("now", "to"), WAYS)
def test_a_table_is_the_same_in_another_version(now: int, to: int) -> None:
    storage = made(now)
    before, rows, raw = told(storage), read_rows(storage), load_table(storage).config.raw
    details = {each.identity: each.commit for each in archived_in(storage) if each.commit}
    done = change(storage, to)
    assert (done.before.value, done.after.value, done.is_done) == (now, to, True)
    check(storage, to, before, rows)
    found = {each.identity: each.commit for each in archived_in(storage) if each.commit}
    for identity, commit in found.items():
        assert what_of(commit) == what_of(details[identity])
        replaced = details[identity].partition_to_replaced_file_ids
        assert commit.partition_to_replaced_file_ids == replaced
    assert change(storage, to).is_done is False
    change(storage, now, LATER_MS + 100_000)
    check(storage, now, before, rows)
    again = dict(load_table(storage).config.raw)
    for each in (again, raw := dict(raw)):
        each.pop("hoodie.table.initial.version", None)
        each.pop("hoodie.table.legacy.payload.class", None)
        each.pop("hoodie.database.name", None)
    assert again == raw


@pytest.mark.parametrize(("now", "to"), DENSE)
def test_a_stop_anywhere_is_undone_or_finished(now: int, to: int) -> None:
    world = World(table=made(now))
    before, rows = told(world.table), read_rows(world.table)

    def act(storage: Storage, _: Storage) -> None:
        change(storage, to)

    course = course_of(world.copy(), act)
    assert len(course.states) > 4
    every = 1 if IS_WHOLE else 3
    states = [*course.states[::every], *course.states[-8:]]
    stopped = [(f"death before call {state.at}", state.world) for state in states]
    for kind, at in course.faults()[:: 7 * every]:
        failed = world.copy()
        with suppress(OSError, HudiError):
            failed.stop(act, Faults(kind, at))
        stopped.append((f"{kind.name} at call {at}", failed))
    for what, each in stopped:
        storage = each.table
        assert read_rows(storage) == rows, what
        assert told(storage) == before, what
        bury(storage)
        other = storage.copy()
        change(storage, to, LATER_MS + 100_000)
        check(storage, to, before, rows)
        write(other, NEW, clock_at(LATER_MS + 100_000), options={**REWRITTEN, WAIT: "0"})
        assert read_rows(other) == {**rows, **NEW}, what
        assert leftovers(other) == [], what
        change(other, to, LATER_MS + 200_000)
        assert read_rows(other) == {**rows, **NEW}, what
        assert told(other) >= before, what


@pytest.mark.parametrize(("now", "to"), LOGGED)
def test_a_table_with_log_files_is_compacted_first(now: int, to: int) -> None:
    storage = made_with_logs(now)
    rows, before = read_rows(storage), told(storage)
    assert len([e for e in load_table(storage).latest_slices() if e.log_files]) > 1
    change(storage, to)
    check_compacted(storage, to, before)
    assert read_rows(storage) == rows
    times = [each.time for each in load_table(storage).timeline.write_instants().completed()]
    write(storage, NEW, clock_at(LATER_MS + 100_000), options={**APPENDED, WAIT: "0"})
    later = {**rows, ("x", "k0"): (30, "later")}
    write(storage, {("x", "k0"): (30, "later")}, clock_at(LATER_MS + 110_000))
    assert read_rows(storage) == {**later, **NEW}
    assert read_rows(storage, as_of=times[-1]) == rows
    run_pending(storage, clock_at(LATER_MS + 120_000))
    compaction(storage, clock_at(LATER_MS + 130_000)).schedule_and_execute()
    assert read_rows(storage) == {**later, **NEW}
    saved = next(e for e in load_table(storage).timeline if e.action is Action.SAVEPOINT)
    as_saved = read_rows(made_with_logs(now), as_of=saved.time)
    restore(storage, clock_at(LATER_MS + 140_000), saved.time)
    assert read_rows(storage) == as_saved


@pytest.mark.parametrize(("now", "to"), LOGGED if IS_WHOLE else LOGGED[:1])
def test_a_stop_anywhere_with_log_files_is_undone_or_finished(now: int, to: int) -> None:
    world = World(table=made_with_logs(now))
    before, rows = told(world.table), read_rows(world.table)

    def act(storage: Storage, _: Storage) -> None:
        change(storage, to)

    course = course_of(world.copy(), act)
    for state in course.states[:: 1 if IS_WHOLE else 9]:
        storage = state.world.table
        assert read_rows(storage) == rows, state.at
        bury(storage)
        other = storage.copy()
        change(storage, to, LATER_MS + 100_000)
        check_compacted(storage, to, before)
        assert read_rows(storage) == rows, state.at
        write(other, NEW, clock_at(LATER_MS + 100_000), options={**APPENDED, WAIT: "0"})
        assert read_rows(other) == {**rows, **NEW}, state.at
        change(other, to, LATER_MS + 200_000)
        check_compacted(other, to, before)
        assert read_rows(other) == {**rows, **NEW}, state.at


def test_log_files_of_a_copied_table_stay_with_their_slices() -> None:
    """All files of a copy are as young as the copy, and by them writes were completed last."""
    storage = made_with_logs(6)
    rows = read_rows(storage)
    for path in storage.files:
        storage.times[path] = LATER_MS - 1
    change(storage, 9)
    assert not [each for each in load_table(storage).latest_slices() if each.log_files]
    assert read_rows(storage) == rows


def test_log_files_of_earlier_slices_keep_a_table_from_version_6() -> None:
    storage = made_with_logs(9)
    rows = read_rows(storage)
    with pytest.raises(UnsupportedError, match="KEEP_LATEST_FILE_VERSIONS"):
        change(storage, 6)
    assert load_table(storage).config.version is TableVersion.NINE
    saved = next(e for e in load_table(storage).timeline if e.action is Action.SAVEPOINT)
    savepoint(storage, clock_at(LATER_MS + 50_000), mode="delete", instant=saved.time)
    latest = {
        "hoodie__clean__policy": "KEEP_LATEST_FILE_VERSIONS",
        "hoodie__clean__fileversions__retained": "1",
    }
    cleaning(storage, clock_at(LATER_MS + 60_000), **latest).schedule_and_execute()
    before = told(storage)
    change(storage, 6, LATER_MS + 100_000)
    check_compacted(storage, 6, before)
    assert read_rows(storage) == rows
    write(storage, NEW, clock_at(LATER_MS + 200_000), options={**APPENDED, WAIT: "0"})
    write(storage, {("x", "k0"): (30, "later")}, clock_at(LATER_MS + 210_000))
    assert read_rows(storage) == {**rows, **NEW, ("x", "k0"): (30, "later")}


@pytest.mark.parametrize(("now", "to"), [(6, 9), (9, 6)])
def test_writers_readers_and_savers_meanwhile(now: int, to: int) -> None:
    first = made(now)
    rows, before = read_rows(first), told(first)
    kept, last = [e.time for e in load_table(first).timeline.write_instants()][-2:]
    for number, order in enumerate(random_orders(200 if IS_WHOLE else 24, 400, 4)):
        storage = first.copy()
        seen: list[object] = []

        def read(own: TurnStorage, seen: list[object] = seen) -> None:
            for _ in range(4):
                with suppress(HudiError):
                    seen.append(read_rows(own))

        def add(own: TurnStorage) -> None:
            write(own, NEW, clock_at(LATER_MS + 500), options={**REWRITTEN, WAIT: "0"})

        def save(own: TurnStorage) -> None:
            savepoint(own, clock_at(LATER_MS + 700), instant=kept)

        raised = run_in_turns(storage, order, lambda own: change(own, to), add, read, save)
        bury(storage)
        change(storage, to, LATER_MS + 100_000)
        wanted = rows if raised[1] is not None else {**rows, **NEW}
        assert isinstance(raised[0], (type(None), HudiError)), (number, raised)
        assert isinstance(raised[1], (type(None), HudiError)), (number, raised)
        assert read_rows(storage) == wanted, (number, raised)
        assert all(each in (rows, {**rows, **NEW}) for each in seen), number
        assert told(storage) >= before, number
        if raised[3] is None:
            saved = {e.time for e in load_table(storage).timeline if e.action is Action.SAVEPOINT}
            assert saved == {kept, last}, (number, raised)


SHARED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "InProcessLockProvider",
    "hoodie.clean.failed.writes.policy": "LAZY",
}


@pytest.mark.parametrize(
    ("now", "to", "shared"),
    [(6, 9, {}), (6, 9, SHARED), (9, 6, {})],
    ids=["alone", "beside_others", "alone_downwards"],
)
@pytest.mark.parametrize("died_at", [None, 1, 3], ids=["whole", "not_swept", "half_swept"])
def test_a_writer_that_comes_back_does_not_go_on_with_the_old_timeline(
    now: int, to: int, shared: dict[str, str], died_at: int | None
) -> None:
    storage = made(now)
    rows = read_rows(storage)

    class Suspended(FaultyStorage):
        """Before its first request the version changes; who changes it may die meanwhile."""

        is_awake = False

        def create(self, path: str, data: bytes) -> None:
            if path.endswith(".commit.requested") and not self.is_awake:
                self.is_awake = True
                with suppress(Killed):
                    change(Dying(storage, Faults()), to)
                bury(storage)
            super().create(path, data)

    class Dying(FaultyStorage):
        """Whoever sweeps with it dies at one of the files."""

        swept = 0

        def delete(self, path: str) -> None:
            self.swept += path.endswith(".commit")
            if died_at is not None and self.swept == died_at:
                self.faults.kind, self.faults.at = Fault.DEATH, self.faults.calls + 1
            super().delete(path)

    def add(own: Storage, at_ms: int) -> object:
        chosen = {**REWRITTEN, **shared, WAIT: "0"}
        return outcome(lambda: write(own, NEW, clock_at(at_ms), options=chosen))

    raised = add(Suspended(storage, Faults()), LATER_MS + 500)
    assert isinstance(raised, ConflictError), raised
    assert load_table(storage).config.version.value == to
    assert read_rows(storage) == rows
    change(storage, to, LATER_MS + 100_000)
    write(storage, NEW, clock_at(LATER_MS + 200_000), options={**REWRITTEN, WAIT: "0"})
    assert read_rows(storage) == {**rows, **NEW}
    assert leftovers(storage) == []


@pytest.mark.parametrize(("now", "to"), [(6, 9), (9, 6)])
def test_a_clean_that_comes_back_deletes_nothing(now: int, to: int) -> None:
    storage = made(now)
    for number in range(3):
        clock = clock_at(LATER_MS - 30_000 + number * 10_000)
        write(storage, {("x", "k0"): (50 + number, "v")}, clock, options=REWRITTEN)
    rows, files = read_rows(storage), data_files(storage)

    class Suspended(FaultyStorage):
        """The version changes before its request, and then nobody clears up after it."""

        def create(self, path: str, data: bytes) -> None:
            if path.endswith(".clean.requested"):
                change(storage, to)
            super().create(path, data)

    clean = cleaning(Suspended(storage, Faults()), clock_at(LATER_MS + 500))
    raised = outcome(clean.schedule_and_execute)
    assert isinstance(raised, WriterAtWorkError), raised
    assert (data_files(storage), read_rows(storage)) == (files, rows)
    assert cleaning(storage, clock_at(LATER_MS + 1_000)).schedule_and_execute().instant
    assert data_files(storage) < files
    change(storage, now, LATER_MS + 100_000)
    change(storage, to, LATER_MS + 200_000)
    assert read_rows(storage) == rows
    assert leftovers(storage) == []


def test_a_writer_at_work_is_waited_for_and_a_dead_one_undone() -> None:
    storage = made(6)
    rows = read_rows(storage)
    died = dead_write(storage, NEW, clock_at(LATER_MS - 100))
    change(storage, 9)
    assert read_rows(storage) == rows
    assert died not in {each.time for each in load_table(storage).timeline.write_instants()}
    assert leftovers(storage) == []
    busy = made(6)
    alive = "20260101010101000"
    busy.put(f".hoodie/{alive}.commit.requested", b"")
    busy.put(f".hoodie/.heartbeat/{alive}", b"")
    busy.times[f".hoodie/.heartbeat/{alive}"] = LATER_MS
    with pytest.raises(WriterAtWorkError, match=alive):
        change(busy, 9)
    assert load_table(busy).config.version is TableVersion.SIX
