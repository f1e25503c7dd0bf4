"""A write that met a conflict writes again what others have changed, and nothing else."""

from collections import Counter
from functools import partial

import pytest

from pyhudi.errors import WriteConflictError
from pyhudi.jobs.result import JobResult
from pyhudi.table.table import load_table
from pyhudi.transaction.conflicts.conflict import ConflictRules
from pyhudi.transaction.optimistic.exclusion import Shared
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    Rows,
    clock_at,
    compaction,
    leftovers,
    new_table,
    read_rows,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.rivals import (
    BEGUN,
    SEVERAL,
    WRITTEN,
    Meanwhile,
    optimistic,
    overlapping,
)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
OLD: Rows = {("x", "a"): (1, "old"), ("y", "b"): (1, "old"), ("z", "c"): (1, "old")}
OTHER: Rows = {("x", "a"): (2, "other")}
OWN: Rows = {
    ("x", "a"): (3, "own"),
    ("y", "b"): (3, "own"),
    ("y", "n"): (3, "own"),
    ("w", "m"): (3, "own"),
}
SPLIT = {"hoodie__parquet__small__file__limit": "0"}


def made(table_type: str, index: str = "SIMPLE") -> MemoryStorage:
    storage = new_table(CONFIG if table_type == TYPES[0] else MERGE_ON_READ)
    write(storage, OLD, clock_at(), options=optimistic(table_type, index))
    return storage


class Counted(MemoryStorage):
    """Counts the files that are written in each partition, by their markers."""

    def __init__(self, inner: MemoryStorage) -> None:
        super().__init__(inner.files, inner.now_ms)
        self.marked: Counter[str] = Counter()

    def put(self, path: str, data: bytes) -> None:
        super().put(path, data)
        if ".marker." in path:
            _, _, instant, partition, _ = path.split("/")
            self.marked[f"{partition} {instant}"] += 1


def both(
    storage: MemoryStorage, rows: Rows, table_type: str, index: str = "SIMPLE", **more: str
) -> JobResult:
    """What the later of two answers, of which the earlier commits while it is at work."""
    clock, done = clock_at(), list[JobResult]()
    options = optimistic(table_type, index, **more)

    def later(own: Meanwhile) -> None:
        done.append(write(own, rows, clock, options=options))

    earlier = partial(write, rows=OTHER, clock=clock, options=options)
    assert overlapping(storage, earlier, later, at=WRITTEN) == [None, None]
    return done[0]


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM", "BUCKET"])
@pytest.mark.parametrize("table_type", TYPES)
def test_files_that_the_other_has_not_touched_are_kept(table_type: str, index: str) -> None:
    storage = Counted(made(table_type, index))
    done = both(storage, OWN, table_type, index)
    assert done.conflicts == 1
    assert read_rows(storage) == {**OLD, **OWN}
    assert leftovers(storage) == []
    own = {key.split()[0]: n for key, n in storage.marked.items() if done.instant in key}
    assert own.pop("x") == 2
    # One file for each file group of the other partitions, written once.
    assert own["w"] == 1
    assert own["y"] <= 2
    instants = {key.split()[1] for key in storage.marked}
    assert len(instants) == 2, "the write went on at its instant"


@pytest.mark.parametrize("table_type", TYPES)
def test_in_a_partition_that_changed_the_updates_of_other_file_groups_are_kept(
    table_type: str,
) -> None:
    storage, clock = made(table_type), clock_at()
    write(storage, {("x", "d"): (1, "old")}, clock, options=optimistic(table_type, **SPLIT))
    counted = Counted(storage)
    rows: Rows = {("x", "a"): (3, "own"), ("x", "d"): (3, "own")}
    done = both(counted, rows, table_type, **SPLIT)
    assert done.conflicts == 1
    assert sum(n for key, n in counted.marked.items() if done.instant in key) == 3
    assert read_rows(counted) == {**OLD, **rows}
    assert leftovers(counted) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_new_rows_of_a_partition_that_changed_are_looked_up_again(table_type: str) -> None:
    """The other inserts a key that this write has as well."""
    storage, clock = made(table_type), clock_at()
    options = optimistic(table_type, **SPLIT)
    other: Rows = {("y", "n"): (2, "other")}
    earlier = partial(write, rows=other, clock=clock, options=options)
    later = partial(write, rows=OWN, clock=clock, options=options)
    assert overlapping(storage, earlier, later, at=WRITTEN) == [None, None]
    assert read_rows(storage) == {**OLD, **OWN}
    assert leftovers(storage) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_after_a_later_instant_everything_is_written_at_one_that_is_later_still(
    table_type: str,
) -> None:
    """Files of one file group follow each other by the instants in their names."""
    storage, clock = made(table_type), clock_at()
    options = optimistic(table_type)
    first: list[str] = []

    def other() -> None:
        first.extend(path for path in storage.files if path.endswith(BEGUN))
        write(storage, OTHER, clock, options=options)

    done = write(Meanwhile(storage, other, before=WRITTEN), OWN, clock, options=options)
    assert done.conflicts == 1
    assert done.instant is not None
    assert not any(done.instant in path for path in first)
    assert read_rows(storage) == {**OLD, **OWN}
    assert leftovers(storage) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_what_a_global_index_moves_is_written_again_as_a_whole(table_type: str) -> None:
    storage = made(table_type, "GLOBAL_SIMPLE")
    moves = {"hoodie__simple__index__update__partition__path": "true"}
    done = both(storage, {("z", "a"): (3, "own")}, table_type, "GLOBAL_SIMPLE", **moves)
    assert done.conflicts == 1
    kept = {key: row for key, row in OLD.items() if key != ("x", "a")}
    assert read_rows(storage) == {**kept, ("z", "a"): (3, "own")}
    assert leftovers(storage) == []


def test_beside_a_compaction_that_is_planned_meanwhile_nothing_is_kept() -> None:
    """A log file that is kept would lie below the plan, and the next snapshot has the plan."""
    storage, clock = made("MERGE_ON_READ"), clock_at()
    options = optimistic("MERGE_ON_READ")
    write(storage, {("y", "b"): (2, "log")}, clock, options=options)
    shared, own = Shared(ConflictRules()), "20991231235959999"
    shared.see(load_table(storage), own)
    other = write(storage, OTHER, clock, options=options)
    error = WriteConflictError("both wrote a file group", instants=(other.instant or "",))
    assert shared.earlier_changes(own, error) is not None
    named = {key.replace(".", "__"): value for key, value in SEVERAL.items()}
    assert compaction(storage, clock, **named).schedule().instant
    assert shared.earlier_changes(own, error) is None
