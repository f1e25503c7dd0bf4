"""Tasks that run twice, or go on when their write has ended, leave no second file in a commit."""

from dataclasses import dataclass, field, replace

import pytest

from pyhudi.config.table import TableConfig
from pyhudi.errors import StorageError
from pyhudi.runner.in_process import Batches, InProcessRunner, run_once
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity
from tests.support.faulty import Fault, Faults, FaultyStorage, Visited
from tests.support.in_process import (
    CONFIG,
    MERGE_ON_READ,
    SAVING,
    Rows,
    clock_at,
    data_files,
    leftovers,
    new_table,
    options_of,
    outcome,
    read_rows,
    write,
    write_nothing,
)
from tests.support.memory import MemoryStorage

OLD: Rows = {("x", "a"): (1, "old")}
BATCH: Rows = {("x", "a"): (2, "new"), ("z", "e"): (2, "new")}
NEXT: Rows = {("y", "n"): (3, "next")}
ATTEMPT = 1_000
"""What tells the second attempt of a task from the first."""


@pytest.fixture(params=[CONFIG, MERGE_ON_READ], ids=["rewritten", "appended"])
def written(request: pytest.FixtureRequest) -> MemoryStorage:
    storage = new_table(request.param)
    write(storage, OLD, clock_at())
    return storage


def again(task: TaskIdentity) -> TaskIdentity:
    return replace(task, attempt_id=task.attempt_id + ATTEMPT)


@pytest.mark.parametrize("operation", ["upsert", "bulk_insert", "insert_overwrite_table"])
@pytest.mark.parametrize("counted", [0, 1])
def test_only_the_files_of_the_attempt_that_counts_are_kept(
    written: MemoryStorage, counted: int, operation: str
) -> None:
    """Rows and files that are saved beside the table too."""
    failed, most = MemoryStorage(), 0

    def twice(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        nonlocal most
        attempts = [run_once(function, each, batches) for each in (task, again(task))]
        most = max(most, len(data_files(written)))
        return attempts[counted]

    options = options_of(next(iter(type_of(written))), **SAVING)
    rows = {**BATCH, ("x", ""): (1, "no key")}
    runner = InProcessRunner(run_task=twice)
    if operation == "bulk_insert":
        rows = {key: row for key, row in rows.items() if key not in OLD}
    before = len(data_files(written))
    write(written, rows, clock_at(), operation, options, runner=runner, failed=failed)
    assert read_rows(written) == (BATCH if operation != "bulk_insert" else {**OLD, **valid(rows)})
    assert most >= before + 2
    assert len(failed.files) == 1
    assert leftovers(written, failed) == []


def type_of(storage: MemoryStorage) -> list[str]:
    text = storage.files[".hoodie/hoodie.properties"].decode()
    return [each for each in ("MERGE_ON_READ", "COPY_ON_WRITE") if each in text]


def valid(rows: Rows) -> Rows:
    return {key: row for key, row in rows.items() if key[1]}


def test_an_attempt_that_died_midway_leaves_nothing(written: MemoryStorage) -> None:
    """Each attempt of a task that writes dies at a call of its own, and the next does the work."""
    for at in range(1, 40):
        storage, faults = written.copy(), Faults()

        def dies_first(
            function: TaskFunction, task: TaskIdentity, batches: Batches, faults: Faults = faults
        ) -> Batches:
            faults.kind, faults.at = Fault.ERROR, faults.calls + at  # noqa: B023 - of this turn
            raised = outcome(lambda: run_once(function, task, batches))
            faults.kind = Fault.NONE
            assert raised is None or isinstance(raised, (StorageError, OSError))
            return run_once(function, again(task), batches)

        runner = InProcessRunner(run_task=dies_first)
        write(FaultyStorage(storage, faults), BATCH, clock_at(), runner=runner)
        assert read_rows(storage) == BATCH, at
        assert leftovers(storage) == [], at


@pytest.mark.parametrize("counted", [0, 1])
def test_no_reader_sees_the_file_of_an_attempt_that_was_killed_midway(
    written: MemoryStorage, counted: int
) -> None:
    """It is gone before the commit, after which it would be as much of the table as its twin."""

    def one_is_killed(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        killed, counts = (again(task), task) if counted == 0 else (task, again(task))
        before = data_files(written)
        run_once(function, killed, batches)
        for path in data_files(written) - before:
            written.put(path, written.files[path][:-100])
        return run_once(function, counts, batches)

    seen = []
    visited = Visited(written, lambda _: seen.append(read_rows(written)))
    write(visited, BATCH, clock_at(), runner=InProcessRunner(run_task=one_is_killed))
    assert [rows for rows in seen if rows not in (OLD, BATCH)] == []
    assert seen[0] == OLD
    assert seen[-1] == BATCH


@dataclass
class Zombie:
    """Tasks that wrote a file run a second time, when they are told to."""

    storage: MemoryStorage
    held: list[tuple[TaskFunction, TaskIdentity, Batches]] = field(default_factory=list)

    def run_task(self, function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        before = data_files(self.storage)
        found = run_once(function, task, batches)
        if data_files(self.storage) - before:
            self.held.append((function, again(task), batches))
        return found

    def go_on(self) -> None:
        before = data_files(self.storage)
        for each in self.held:
            run_once(*each)
        assert data_files(self.storage) - before


def test_an_attempt_that_outlives_the_commit_is_swept_by_the_next_write(
    written: MemoryStorage,
) -> None:
    zombie = Zombie(written)
    write(written, BATCH, clock_at(), runner=InProcessRunner(run_task=zombie.run_task))
    zombie.go_on()
    write_nothing(written, clock_at())
    assert read_rows(written) == BATCH
    assert leftovers(written) == []


@pytest.mark.parametrize("is_first_write", [False, True])
@pytest.mark.parametrize("config", [CONFIG, MERGE_ON_READ], ids=["rewritten", "appended"])
def test_an_attempt_that_outlives_the_rollback_is_swept_by_the_next_write(
    is_first_write: bool, config: TableConfig
) -> None:
    storage, clock = new_table(config), clock_at()
    if not is_first_write:
        write(storage, OLD, clock)
    zombie = Zombie(storage)

    class Failing(FaultyStorage):
        """Nothing can be committed."""

        def create(self, path: str, data: bytes) -> None:
            if path.endswith((".commit", ".deltacommit")):
                raise StorageError("no commit")
            super().create(path, data)

    runner = InProcessRunner(run_task=zombie.run_task)
    failing = Failing(storage, Faults())
    assert isinstance(outcome(lambda: write(failing, BATCH, clock, runner=runner)), StorageError)
    before = {} if is_first_write else OLD
    assert read_rows(storage) == before
    assert leftovers(storage) == []
    # The zombie's files lie there while another write goes by, and before one looks again.
    write(storage, NEXT, clock)
    zombie.go_on()
    write_nothing(storage, clock)
    assert read_rows(storage) == {**before, **NEXT}
    assert leftovers(storage) == []


def test_markers_of_an_archived_commit_cost_no_data_file() -> None:
    """A commit whose markers stayed behind may be on the timeline no more, and still count."""
    storage = new_table()
    write(storage, OLD, clock_at())
    (first,) = data_files(storage)
    instant = first.rsplit("_", 1)[1].removesuffix(".parquet")
    write(storage, NEXT, clock_at())
    for path in [path for path in storage.files if path.startswith(f".hoodie/{instant}")]:
        storage.delete(path)
    storage.put(f".hoodie/.temp/{instant}/{first}.marker.CREATE", b"")
    write_nothing(storage, clock_at())
    assert first in storage.files
    assert read_rows(storage) == {**OLD, **NEXT}
    assert storage.below(".hoodie/.temp") == []
