"""Tasks that run twice, or go on when their write has ended, leave no second file in a commit."""

from __future__ import annotations

import pytest

from pyhudi.services.recovery import recover
from pyhudi.timeline.instant import Action
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.markers import read_markers
from tests.support.faulty import Fault, Faults, FaultyStorage
from tests.support.memory import MemoryStorage
from tests.support.plain_write import (
    Rows,
    clock_at,
    finish,
    leftovers,
    new_table,
    outcome,
    read_rows,
    upsert,
    write_rows,
    writer_on,
)

OLD: Rows = {("x", "a"): (1, "old")}
BATCH: Rows = {("x", "a"): (2, "new"), ("z", "e"): (2, "new")}


@pytest.fixture
def written() -> MemoryStorage:
    storage = new_table()
    upsert(storage, OLD, clock_at())
    return storage


@pytest.mark.parametrize("counted", [0, 1])
def test_only_the_files_of_the_attempt_that_counts_are_kept(
    written: MemoryStorage, counted: int
) -> None:
    writer = writer_on(written, clock_at())
    with InstantRun(writer, Action.COMMIT) as run:
        attempts = [write_rows(written, BATCH, run.instant, attempt=n) for n in range(2)]
        assert len(read_markers(written, run.instant)) == 4
        finish(run, attempts[counted])
    assert read_rows(written) == BATCH
    assert leftovers(written) == []


def test_an_attempt_that_died_midway_leaves_nothing(written: MemoryStorage) -> None:
    for at in range(1, 40):
        storage = written.copy()
        with InstantRun(writer_on(storage, clock_at()), Action.COMMIT) as run:
            dying = FaultyStorage(storage, Faults(Fault.DEATH, at))
            instant = run.instant
            outcome(lambda storage=dying, i=instant: write_rows(storage, BATCH, i))
            finish(run, write_rows(storage, BATCH, instant, attempt=1))
        assert read_rows(storage) == BATCH
        assert leftovers(storage) == []


def test_an_attempt_that_outlives_the_commit_is_swept_by_the_next_write(
    written: MemoryStorage,
) -> None:
    instant = upsert(written, BATCH, clock_at())
    write_rows(written, {("z", "e"): (9, "zombie")}, instant, attempt=7)
    recover(writer_on(written, clock_at()))
    assert read_rows(written) == BATCH
    assert leftovers(written) == []


@pytest.mark.parametrize("is_first_write", [False, True])
def test_an_attempt_that_outlives_the_rollback_is_swept_by_the_next_write(
    is_first_write: bool,
) -> None:
    storage, clock = new_table(), clock_at()
    if not is_first_write:
        upsert(storage, OLD, clock)
    with InstantRun(writer_on(storage, clock), Action.COMMIT) as run:
        write_rows(storage, BATCH, run.instant)
    before = {} if is_first_write else OLD
    assert read_rows(storage) == before
    assert leftovers(storage) == []
    # The zombie's files lie there while another write goes by, and before one looks again.
    upsert(storage, {("y", "n"): (3, "next")}, clock)
    write_rows(storage, {("z", "e"): (9, "zombie")}, run.instant, attempt=7)
    recover(writer_on(storage, clock))
    assert read_rows(storage) == {**before, ("y", "n"): (3, "next")}
    assert leftovers(storage) == []


def test_markers_of_an_archived_commit_cost_no_data_file(written: MemoryStorage) -> None:
    """A commit whose markers stayed behind may be on the timeline no more, and still count."""
    first = next(path for path in written.files if path.endswith(".parquet"))
    instant = first.rsplit("_", 1)[1].removesuffix(".parquet")
    upsert(written, {("y", "n"): (3, "next")}, clock_at())
    for path in [path for path in written.files if path.startswith(f".hoodie/{instant}")]:
        written.delete(path)
    written.put(f".hoodie/.temp/{instant}/{first}.marker.CREATE", b"")
    recover(writer_on(written, clock_at()))
    assert first in written.files
    assert read_rows(written) == {**OLD, ("y", "n"): (3, "next")}
    assert written.below(".hoodie/.temp") == []
