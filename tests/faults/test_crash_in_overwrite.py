"""An overwrite that fails, or dies, at any of its calls: old partitions or new ones, never both."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata
from pyhudi.actions.replace import RequestedReplace
from pyhudi.errors import HudiError
from pyhudi.services.recovery import recover
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.write.files.create import create_files
from pyhudi.write.plan.replacing import replaced_file_ids
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, bury
from tests.support.memory import MemoryStorage
from tests.support.plain_write import (
    Rows,
    clock_at,
    incoming,
    job_on,
    leftovers,
    new_table,
    outcome,
    read_rows,
    task,
    upsert,
    writer_on,
)
from tests.support.timelines import active_of

OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
# Keys that were there and keys that were not, in a partition that was there and one that was not.
BATCH: Rows = {("x", "a"): (2, "new"), ("x", "d"): (2, "new"), ("z", "e"): (2, "new")}
OVERWRITTEN: Rows = {("y", "c"): (1, "old"), **BATCH}
NEXT: Rows = {("x", "b"): (3, "next"), ("z", "f"): (3, "next")}


def overwrite(storage: Storage, rows: Rows, clock: Clock, *more: str) -> str:
    """Recover, then replace the partitions of the rows, and ``more``; answers the instant."""
    writer = writer_on(storage, clock)
    recover(writer)
    with InstantRun(writer, Action.REPLACE_COMMIT, RequestedReplace()) as run:
        table = load_table(storage)
        partitions = sorted({part for part, _ in rows} | set(more))
        replaced = replaced_file_ids(partitions, table.latest_slices(partitions))
        run.start(None)
        job = job_on(storage, run.instant)
        stats = {}
        for number, part in enumerate(sorted({part for part, _ in rows})):
            batch = incoming({key: row for (where, key), row in rows.items() if where == part})
            name = f"{part}-{run.instant}-0"
            made = create_files(job, task(number), partition=part, file_id=name, rows=batch)
            stats[part] = tuple(made)
        metadata = ReplaceCommitMetadata(
            commit=CommitMetadata(
                partition_to_write_stats=stats, operation_type="INSERT_OVERWRITE"
            ),
            partition_to_replaced_file_ids=replaced,
        )
        written = frozenset(stat.path or "" for made in stats.values() for stat in made)
        run.complete(metadata, written)
    return run.instant


def delete_x(storage: Storage, clock: Clock) -> str:
    return overwrite(storage, {}, clock, "x")


WRITES: dict[str, tuple[Callable[[Storage, Clock], str], Rows]] = {
    "overwrite": (lambda storage, clock: overwrite(storage, BATCH, clock), OVERWRITTEN),
    "delete": (delete_x, {("y", "c"): (1, "old")}),
}


@pytest.fixture(scope="module")
def written() -> MemoryStorage:
    storage = new_table()
    upsert(storage, OLD, clock_at())
    return storage


def calls(write: Callable[[Storage, Clock], str], storage: MemoryStorage) -> int:
    faults = Faults()
    write(FaultyStorage(storage.copy(), faults), clock_at())
    return faults.calls


@pytest.mark.parametrize("kind", [kind for kind in Fault if kind is not Fault.NONE])
@pytest.mark.parametrize("name", WRITES)
def test_an_overwrite_that_stops_anywhere_is_seen_whole_or_not_at_all(
    written: MemoryStorage, name: str, kind: Fault
) -> None:
    write, after = WRITES[name]
    total = calls(write, written)
    assert total > 10
    for at in range(1, total + 1):
        storage = written.copy()
        raised = outcome(
            lambda at=at, storage=storage: write(
                FaultyStorage(storage, Faults(kind, at)), clock_at()
            )
        )
        check_state(storage, after, raised, f"{kind.name} at call {at}: {raised!r}", kind)


def check_state(
    storage: MemoryStorage, after: Rows, raised: BaseException | None, what: str, kind: Fault
) -> None:
    assert raised is None or isinstance(raised, (HudiError, Killed, OSError)), what
    seen = read_rows(storage)
    assert seen in (OLD, after), what
    if raised is None:
        assert seen == after, what
    elif not isinstance(raised, Killed):
        assert seen == OLD, what
    if kind is Fault.DEATH:
        bury(storage)
    upsert(storage, NEXT, clock_at())
    assert read_rows(storage) == {**seen, **NEXT}, what
    assert leftovers(storage) == [], what


def test_a_dead_overwrite_is_rolled_back_under_its_own_name(written: MemoryStorage) -> None:
    total = calls(WRITES["overwrite"][0], written)
    storage = written.copy()
    faults = Faults(Fault.DEATH, total - 6)
    outcome(lambda: overwrite(FaultyStorage(storage, faults), BATCH, clock_at()))
    (dead,) = active_of(storage).load().pending()
    assert dead.action is Action.REPLACE_COMMIT
    bury(storage)
    assert recover(writer_on(storage, clock_at())) == (dead.time,)
    timeline = active_of(storage).load()
    assert [instant.action for instant in timeline] == [Action.COMMIT, Action.ROLLBACK]
    assert read_rows(storage) == OLD
    assert leftovers(storage) == []


def test_a_second_overwrite_hides_the_first(written: MemoryStorage) -> None:
    storage, clock = written.copy(), clock_at()
    overwrite(storage, BATCH, clock)
    overwrite(storage, {("x", "g"): (3, "last")}, clock)
    assert read_rows(storage) == {
        ("x", "g"): (3, "last"),
        ("y", "c"): (1, "old"),
        ("z", "e"): (2, "new"),
    }
