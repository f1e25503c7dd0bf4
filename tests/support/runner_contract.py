"""What every runner does, as functions that take one and a folder of their own.

Functions that run in tasks are pickled with all they refer to, so they lie in this module.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyhudi.errors import ConflictError
from pyhudi.runner.runner import SHUFFLE_KEY, Runner, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity

Row = tuple[str | None, int]
Batches = Iterator[pa.RecordBatch]

SCHEMA = pa.schema([("name", pa.string()), ("n", pa.int32())])
OTHERS = pa.schema([("other_name", pa.string()), ("other_n", pa.int32())])
SEEN = pa.schema([*SCHEMA, ("task", pa.int32())])
TASK = pa.schema([("partition", pa.int32()), ("stage", pa.int32()), ("rows", pa.int32())])
KEYED = pa.schema([(SHUFFLE_KEY, pa.int32()), ("n", pa.int32())])
LETTERS: tuple[tuple[Row, ...], ...] = (
    (("c", 0), ("a", 1), ("b", 2), ("a", 3)),
    ((None, 4), ("a", 5), ("d", 6)),
)


def spread(runner: Runner, *tasks: tuple[Row, ...], schema: pa.Schema = SCHEMA) -> SpreadRows:
    """Rows, those of each task as one batch."""

    def give(_: TaskIdentity, number: int) -> Batches:
        columns = zip(*tasks[number], strict=True)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    return runner.tasks(len(tasks), give, schema)


def told(rows: SpreadRows, *columns: str) -> list[tuple[Any, ...]]:
    """The rows, in the order in which they are collected."""
    return [tuple(getattr(row, name) for name in columns) for row in rows.collect(*columns)]


def seen(task: TaskIdentity, batches: Batches) -> Batches:
    """The rows, each with the number of its task."""
    for batch in batches:
        numbers = pa.array([task.partition_id] * batch.num_rows, pa.int32())
        yield pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=SEEN)


def counted(task: TaskIdentity, batches: Batches) -> Batches:
    """What a task is, and how many rows it gets."""
    values = (task.partition_id, task.stage_id, sum(batch.num_rows for batch in batches))
    yield pa.RecordBatch.from_arrays([pa.array([v], pa.int32()) for v in values], schema=TASK)


def a_function_gets_the_rows_of_a_task_and_its_identity(runner: Runner, _: Path) -> None:
    found = told(spread(runner, *LETTERS).map(counted, TASK), "partition", "stage", "rows")
    assert sorted((task, rows) for task, _, rows in found) == [(0, 4), (1, 3)]
    assert len({stage for _, stage, _ in found}) == 1


def no_tasks_give_no_rows(runner: Runner, _: Path) -> None:
    assert told(spread(runner), "name") == []
    assert told(spread(runner).map(seen, SEEN), "task") == []


def columns_are_selected_and_rows_are_their_attributes(runner: Runner, _: Path) -> None:
    rows = spread(runner, *LETTERS)
    assert sorted(told(rows.select("n"), "n")) == [(n,) for n in range(7)]
    assert {(row.n, row.name) for row in rows.collect()} == {(n, x) for t in LETTERS for x, n in t}


def rows_are_told_apart_by_nulls(runner: Runner, _: Path) -> None:
    rows = spread(runner, *LETTERS)
    assert told(rows.where_null("name", is_null=True), "n") == [(4,)]
    assert len(told(rows.where_null("name", is_null=False), "n")) == 6


def a_union_has_the_rows_of_both(runner: Runner, _: Path) -> None:
    both = spread(runner, LETTERS[0]).union(spread(runner, LETTERS[1]))
    assert sorted(told(both, "n")) == [(n,) for n in range(7)]


def rows_are_exchanged_by_their_shuffle_key(runner: Runner, _: Path) -> None:
    keys = runner.shuffle_keys(5)
    assert len(set(keys.tolist())) == 5
    sent = tuple((int(keys[n % 4]), n) for n in range(40))
    rows = spread(runner, sent[:13], sent[13:], schema=KEYED).exchange(5)
    named = rows.map(numbered, TASK)
    assert Counter(told(named, "partition", "rows")) == Counter((n % 4, n) for n in range(40))


def numbered(task: TaskIdentity, batches: Batches) -> Batches:
    """Each row's number beside that of its task."""
    for batch in batches:
        tasks = pa.array([task.partition_id] * batch.num_rows, pa.int32())
        yield pa.RecordBatch.from_arrays([tasks, tasks, batch.column("n")], schema=TASK)


def rows_get_the_values_of_others_of_their_key(runner: Runner, _: Path) -> None:
    rows = spread(runner, (("x", 1), ("y", 2)), (("z", 3),))
    others = spread(runner, (("c", 1), ("a", 3)), (("b", 1), ("a", 1)), schema=OTHERS)
    lists = {"other_name": "names", "other_n": "ns"}
    listed = rows.with_lists(others, key="n", other_key="other_n", lists=lists)
    found = sorted(told(listed, "name", "n", "names", "ns"))
    assert found == [
        ("x", 1, ["a", "b", "c"], [1, 1, 1]),
        ("y", 2, None, None),
        ("z", 3, ["a"], [3]),
    ]


def sorted_as_a_whole_rows_follow_from_task_to_task(runner: Runner, _: Path) -> None:
    letters = spread(runner, *LETTERS)
    rows = letters.sort(["name"], globally=True, stable=True, tasks=3, task_bytes=1)
    found = sorted(told(rows.map(seen, SEEN), "task", "name", "n"), key=lambda row: row[0])
    assert [row[1:] for row in found] == [
        (None, 4),
        *(("a", 1), ("a", 3), ("a", 5)),
        *(("b", 2), ("c", 0), ("d", 6)),
    ]
    assert len({task for task, name, _ in found if name == "a"}) == 1


def sorted_within_tasks_rows_stay_there(runner: Runner, _: Path) -> None:
    letters = spread(runner, *LETTERS)
    rows = letters.sort(["name"], globally=False, stable=False, tasks=None, task_bytes=1)
    found = told(rows.map(seen, SEEN), "task", "name")
    assert [name for task, name in found if task == 0] == ["a", "a", "b", "c"]
    assert [name for task, name in found if task == 1] == [None, "a", "d"]


def held_rows_are_made_once(runner: Runner, folder: Path) -> None:
    held = spread(runner, *LETTERS).map(leaving_a_trace(folder), SCHEMA).hold()
    for _ in range(2):
        assert sorted(told(held.select("n"), "n")) == [(n,) for n in range(7)]
    assert len(list(folder.iterdir())) == 2
    held.release()


def leaving_a_trace(folder: Path) -> TaskFunction:
    """The same rows, and a file for each attempt."""

    def leave(task: TaskIdentity, batches: Batches) -> Batches:
        (folder / task.write_token).touch(exist_ok=False)
        yield from batches

    return leave


def hints_change_no_row(runner: Runner, _: Path) -> None:
    with runner.named("hinted") as spilled_bytes:
        assert len(told(spread(runner, *LETTERS).few_a_batch().map(seen, SEEN), "n")) == 7
    assert spilled_bytes() == 0
    assert runner.parallelism > 0


def an_error_of_a_task_comes_as_what_it_is(runner: Runner, _: Path) -> None:
    with pytest.raises(ConflictError, match="another writer") as caught:
        spread(runner, *LETTERS).map(failing, SCHEMA).collect()
    assert "Traceback" not in str(caught.value)
    assert caught.value.retryable


def what_tasks_tell_is_heard_when_they_end(runner: Runner, _: Path) -> None:
    heard: dict[str, int] = {}

    def hear(what: str, done: int) -> None:
        heard[what] = max(done, heard.get(what, 0))

    with runner.hearing(hear) as tell:

        def work(task: TaskIdentity, number: int) -> Batches:
            for done in range(1, number + 2):
                tell(f"part {number}", done, 3)
            yield from counted(task, iter(()))

        runner.tasks(3, work, TASK).collect()
        assert heard == {"part 0": 1, "part 1": 2, "part 2": 3}


def failing(_: TaskIdentity, batches: Batches) -> Batches:
    """Fails at its first row."""
    for _batch in batches:
        raise ConflictError("another writer is at work")
    yield from ()


CONTRACT: tuple[Callable[[Runner, Path], None], ...] = (
    a_function_gets_the_rows_of_a_task_and_its_identity,
    no_tasks_give_no_rows,
    columns_are_selected_and_rows_are_their_attributes,
    rows_are_told_apart_by_nulls,
    a_union_has_the_rows_of_both,
    rows_are_exchanged_by_their_shuffle_key,
    rows_get_the_values_of_others_of_their_key,
    sorted_as_a_whole_rows_follow_from_task_to_task,
    sorted_within_tasks_rows_stay_there,
    held_rows_are_made_once,
    hints_change_no_row,
    an_error_of_a_task_comes_as_what_it_is,
    what_tasks_tell_is_heard_when_they_end,
)
