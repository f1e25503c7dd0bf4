"""Tasks that run one after another in this process.

For services that need no Spark, and for tests: all rows are kept in memory, nothing runs beside
anything else, and nothing is spilled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import count
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvariantError
from pyhudi.runner.runner import SHUFFLE_KEY, Hear, NumberedFunction, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity, Tell

Batches: TypeAlias = tuple[pa.RecordBatch, ...]
RunTask: TypeAlias = Callable[[TaskFunction, TaskIdentity, Batches], Batches]


def run_once(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
    """Run a task that has one attempt."""
    return tuple(function(task, iter(batches)))


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessRunner:
    """A Runner in this process.

    ``parallelism`` is what it says of itself, by which work is cut into tasks. ``run_task`` runs
    the attempts of one task and gives what the one gave that counts.
    """

    parallelism: int = 2
    run_task: RunTask = run_once
    numbers: Iterator[int] = field(default_factory=count)

    def tasks(self, count: int, function: NumberedFunction, schema: pa.Schema) -> SpreadRows:
        """What a function gives for each number below ``count``, a task each."""
        return self.spread([()] * count, schema).map(
            lambda task, _: function(task, task.partition_id), schema
        )

    def spread(self, tasks: Sequence[Batches], schema: pa.Schema) -> InProcessRows:
        """Batches that are here already, those of each task."""
        return InProcessRows(runner=self, schema=schema, tasks=tuple(tasks))

    def shuffle_keys(self, count: int) -> npt.NDArray[np.int32]:
        """The numbers of the tasks."""
        return np.arange(count, dtype=np.int32)

    def hearing(self, hear: Hear) -> AbstractContextManager[Tell]:
        """What tasks tell is heard at once."""
        return nullcontext(lambda what, done, _: hear(what, done))

    def named(self, description: str) -> AbstractContextManager[Callable[[], int]]:
        """Nothing is spilled, whatever it is called."""
        del description
        return nullcontext(lambda: 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessRows:
    """The batches of each task. What the methods do is said by ``SpreadRows``."""

    runner: InProcessRunner
    schema: pa.Schema
    tasks: tuple[Batches, ...]

    def map(self, function: TaskFunction, schema: pa.Schema) -> InProcessRows:
        """What a function makes of the rows of each task."""
        stage, attempt = next(self.runner.numbers), self.runner.numbers
        found = [
            self.runner.run_task(
                function,
                TaskIdentity(partition_id=number, stage_id=stage, attempt_id=next(attempt)),
                batches,
            )
            for number, batches in enumerate(self.tasks)
        ]
        return replace(self, schema=schema, tasks=tuple(found))

    def select(self, *columns: str) -> InProcessRows:
        """Some of the columns."""
        return self._each(lambda rows: rows.select(columns))

    def where_null(self, column: str, *, is_null: bool) -> InProcessRows:
        """The rows that have no value in a column, or those that have one."""

        def keep(rows: pa.Table) -> pa.Table:
            found = pc.is_null(rows.column(column))
            return rows.filter(found if is_null else pc.invert(found))

        return self._each(keep)

    def union(self, other: SpreadRows) -> InProcessRows:
        """The rows of both."""
        return replace(self, tasks=(*self.tasks, *_here(other).tasks))

    def exchange(self, count: int) -> InProcessRows:
        """The rows in so many tasks, by their shuffle key."""
        rows = self._table()
        keys = rows.column(SHUFFLE_KEY)
        tasks = (rows.filter(pc.equal(keys, number)) for number in range(count))
        return replace(self, tasks=tuple(tuple(task.to_batches()) for task in tasks))

    def with_lists(
        self, others: SpreadRows, *, key: str, other_key: str, lists: Mapping[str, str]
    ) -> InProcessRows:
        """Each row with the values that other rows of its key have."""
        found = _here(others)
        values: dict[object, list[tuple[object, ...]]] = defaultdict(list)
        for row in found._table().to_pylist():
            values[row[other_key]].append(tuple(row[name] for name in lists))
        types = [found.schema.field(name).type for name in lists]
        fields = [
            pa.field(name, pa.list_(kind)) for name, kind in zip(lists.values(), types, strict=True)
        ]

        def beside(rows: pa.Table) -> pa.Table:
            own = [sorted(values[each]) for each in rows.column(key).to_pylist()]
            for place, added in enumerate(fields):
                column = [[value[place] for value in each] if each else None for each in own]
                rows = rows.append_column(added, pa.array(column, added.type))
            return rows

        return self._each(beside, pa.schema([*self.schema, *fields]))

    def sort(
        self,
        columns: Sequence[str],
        *,
        globally: bool,
        stable: bool,
        tasks: int | None,
        task_bytes: int,
    ) -> InProcessRows:
        """The rows of each task in order, in one task when ``globally``; always stable."""
        del stable, tasks, task_bytes
        whole = replace(self, tasks=(tuple(self._table().to_batches()),)) if globally else self

        def ordered(rows: pa.Table) -> pa.Table:
            numbered = rows.append_column("", pa.array(np.arange(rows.num_rows)))
            keys = [(name, "ascending", "at_start") for name in (*columns, "")]
            return rows.take(pc.sort_indices(numbered, keys))

        return whole._each(ordered)

    def few_a_batch(self) -> InProcessRows:
        """The same rows."""
        return self

    def hold(self) -> InProcessRows:
        """The same rows, which are here already."""
        return self

    def release(self) -> None:
        """Nothing: what nobody refers to any more is gone."""

    def collect(self, *columns: str) -> list[Any]:
        """The rows."""
        rows = self._table()
        return [
            SimpleNamespace(**row) for row in rows.select(columns or rows.column_names).to_pylist()
        ]

    def _table(self) -> pa.Table:
        batches = [batch for task in self.tasks for batch in task]
        return pa.Table.from_batches(batches, schema=self.schema)

    def _each(
        self, function: Callable[[pa.Table], pa.Table], schema: pa.Schema | None = None
    ) -> InProcessRows:
        tasks = [function(pa.Table.from_batches(task, schema=self.schema)) for task in self.tasks]
        found = function(self.schema.empty_table()).schema if schema is None else schema
        return replace(self, schema=found, tasks=tuple(tuple(task.to_batches()) for task in tasks))


def _here(rows: SpreadRows) -> InProcessRows:
    if not isinstance(rows, InProcessRows):
        raise InvariantError(f"rows of another runner: {type(rows).__name__}")
    return rows
