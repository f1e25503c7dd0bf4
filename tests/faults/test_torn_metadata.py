"""Metadata that is torn, lost or foreign: read as Hudi reads it, or refused by name.

What Hudi does was found by giving such tables to 0.15 and 1.1: it refuses properties with a wrong
checksum unless their backup is whole, a newest commit that is cut short, and a plan that is; it
passes over files in the timeline's folder that are no instants; it reads an empty commit as one
that says nothing. Where it fails midway, as at an inflight write without a request, or does not
look, as at an older commit, the tests say what is done here.
"""

import logging
from collections.abc import Callable

import pytest

from pyhudi.actions.rollback import InstantInfo, RollbackPlan
from pyhudi.errors import CorruptTableError, TableNotFoundError
from pyhudi.table.properties_file import BACKUP_FILE, PROPERTIES_FILE
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.damaging import FIRST, SECOND, THIRD, tables
from tests.support.in_process import (
    NOW_MS,
    Rows,
    clock_at,
    compaction,
    leftovers,
    read_rows,
    read_tables,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

LATER = clock_at(NOW_MS + 60_000)
ROWS: Rows = {**FIRST, **SECOND, **THIRD}
NEXT: Rows = {("x", "n"): (9, "next")}


@pytest.fixture(autouse=True)
def no_garbage() -> None:
    """No output is left open here, so nothing has to be collected after each test."""


@pytest.fixture
def storage() -> MemoryStorage:
    return tables()["copy_on_write, SIMPLE"]()


@pytest.fixture
def planned() -> MemoryStorage:
    """A merge-on-read table with a compaction that is planned."""
    return tables()["merge_on_read, SIMPLE, compaction planned"]()


def named(storage: MemoryStorage, end: str) -> list[str]:
    """The files of the timeline that end so, in their order."""
    return [path for path in storage.below(".hoodie") if path.endswith(end)]


def with_checksum(data: bytes, text: bytes) -> bytes:
    lines = [line for line in data.splitlines() if b"hoodie.table.checksum" not in line]
    return b"\n".join([*lines, text, b""])


WRONG = b"hoodie.table.checksum=1"


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param(lambda _: b"", id="empty"),
        pytest.param(lambda data: data[: len(data) // 3], id="cut short"),
        pytest.param(lambda data: with_checksum(data, WRONG), id="wrong checksum"),
    ],
)
def test_torn_properties_are_refused_or_their_backup_read(
    storage: MemoryStorage, torn: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    whole = storage.read(PROPERTIES_FILE)
    storage.put(PROPERTIES_FILE, torn(whole))
    with pytest.raises(CorruptTableError, match=r"hoodie\.properties"):
        read_rows(storage)
    storage.put(BACKUP_FILE, whole)
    with caplog.at_level(logging.WARNING):
        assert read_rows(storage) == ROWS
    assert "its backup is read" in caplog.text
    storage.put(BACKUP_FILE, torn(whole))
    with pytest.raises(CorruptTableError, match=r"hoodie\.properties"):
        read_rows(storage)


def test_properties_of_old_releases_have_no_checksum(storage: MemoryStorage) -> None:
    storage.put(PROPERTIES_FILE, with_checksum(storage.read(PROPERTIES_FILE), b"# none"))
    assert read_rows(storage) == ROWS


def test_of_properties_that_are_gone_the_backup_is_read_and_written_with(
    storage: MemoryStorage,
) -> None:
    storage.put(BACKUP_FILE, storage.read(PROPERTIES_FILE))
    storage.delete(PROPERTIES_FILE)
    assert read_tables(storage)[1:]
    storage.delete(BACKUP_FILE)
    with pytest.raises(TableNotFoundError):
        read_tables(storage)


@pytest.mark.parametrize("which", [0, -1])
def test_a_commit_that_is_cut_short_is_named(storage: MemoryStorage, which: int) -> None:
    path = named(storage, ".commit")[which]
    storage.put(path, storage.files[path][:100])
    before = dict(storage.files)
    for act in (lambda: read_rows(storage), lambda: write(storage, NEXT, LATER)):
        with pytest.raises(CorruptTableError, match=path):
            act()
    assert {p: d for p, d in storage.files.items() if p in before} == before


def test_a_commit_that_is_empty_says_nothing(storage: MemoryStorage) -> None:
    """Hudi reads it so too, and writes such commits itself in places."""
    storage.put(named(storage, ".commit")[0], b"")
    assert read_rows(storage) == ROWS


@pytest.mark.parametrize("end", [".inflight", ".commit.requested"])
def test_a_dead_write_of_which_one_file_is_left_is_rolled_back(
    storage: MemoryStorage, end: str
) -> None:
    """Hudi fails here: it cannot delete the file that is not there."""
    storage.put(f".hoodie/20260101000000900{end}", b"")
    assert read_rows(storage) == ROWS
    write(storage, NEXT, LATER)
    assert read_rows(storage) == {**ROWS, **NEXT}
    assert leftovers(storage) == []


def test_a_completed_write_needs_no_files_of_its_earlier_states(storage: MemoryStorage) -> None:
    storage.delete_all([*named(storage, ".requested"), *named(storage, ".inflight")])
    write(storage, NEXT, LATER)
    assert read_rows(storage) == {**ROWS, **NEXT}


@pytest.mark.parametrize("data", [b"", b"Obj\x01", b"x" * 100])
def test_a_plan_that_is_torn_stops_writers_and_not_readers(
    planned: MemoryStorage, data: bytes
) -> None:
    """Readers need to know that there is a plan; writers, which file groups it has."""
    (path,) = named(planned, ".compaction.requested")
    planned.put(path, data)
    assert read_rows(planned) == ROWS
    service = compaction(planned, LATER)
    for act in (
        lambda: write(planned, NEXT, LATER),
        lambda: service.execute(service.oldest_pending()),
    ):
        with pytest.raises(CorruptTableError, match=path):
            act()


def test_a_compaction_that_runs_without_its_plan_stops_writers_and_not_readers(
    planned: MemoryStorage,
) -> None:
    (path,) = named(planned, ".compaction.requested")
    planned.delete(path)
    planned.put(path.replace("requested", "inflight"), b"")
    assert read_rows(planned) == ROWS
    with pytest.raises(CorruptTableError, match=rf"its plan is gone.*{path}"):
        write(planned, NEXT, LATER)


def test_a_compaction_that_is_lost_is_missed_by_the_log_files_that_wait_for_it(
    planned: MemoryStorage,
) -> None:
    planned.delete_all(named(planned, ".compaction.requested"))
    with pytest.raises(CorruptTableError, match=r"waits for the compaction .* not on the timeline"):
        read_rows(planned)


@pytest.mark.parametrize("data", [b"", b"Obj\x01", b"x" * 100])
def test_a_rollback_that_died_while_it_was_planned_is_planned_anew(
    storage: MemoryStorage, data: bytes
) -> None:
    storage.put(".hoodie/20260101000000900.inflight", b"")
    storage.put(".hoodie/20260101000000950.rollback.requested", data)
    write(storage, NEXT, LATER)
    assert read_rows(storage) == {**ROWS, **NEXT}
    assert leftovers(storage) == []


def test_a_rollback_that_runs_without_a_plan_that_can_be_read_is_refused(
    storage: MemoryStorage,
) -> None:
    rollback = Instant(time="20260101000000950", action=Action.ROLLBACK, state=State.REQUESTED)
    active = active_of(storage)
    active.request(
        rollback, RollbackPlan(instant=InstantInfo(time="1", action="commit"), requests=())
    )
    active.start(rollback, None)
    (path,) = named(storage, ".rollback.requested")
    storage.put(path, storage.files[path][:100])
    with pytest.raises(CorruptTableError, match=path):
        write(storage, NEXT, LATER)


FOREIGN = (
    *(".hoodie/notes.txt", ".hoodie/x.commit", ".hoodie/20990101000000001.strange"),
    *(".hoodie/20990101000000001.commit.tmp", ".hoodie/.20990101000000001.commit.crc"),
    *("x/README.md", "x/_SUCCESS", "x/part-00000.parquet", "x/.hidden", "x/below/a.parquet"),
    *("x/data.csv", "x/a_0-0-0_1.csv", "other/a.parquet"),
)


@pytest.mark.parametrize("path", FOREIGN)
def test_files_of_others_are_neither_read_nor_deleted(storage: MemoryStorage, path: str) -> None:
    storage.put(path, b"not Hudi's")
    assert read_rows(storage) == ROWS
    write(storage, NEXT, LATER)
    assert read_rows(storage) == {**ROWS, **NEXT}
    assert storage.files[path] == b"not Hudi's"
