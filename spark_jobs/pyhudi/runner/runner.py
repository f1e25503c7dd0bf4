"""What the pipeline asks of whatever runs its tasks.

A function gets the identity of its task and the batches that arrive there, and gives batches. It is
pure but for the files that it writes under names of its own attempt, so it may run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.runner.task import TaskIdentity, Tell

TaskFunction: TypeAlias = Callable[
    [TaskIdentity, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]
]
"""Batches of one task to batches."""

NumberedFunction: TypeAlias = Callable[[TaskIdentity, int], Iterator[pa.RecordBatch]]
"""The number of a task, from 0, to the batches it gives."""

Hear: TypeAlias = Callable[[str, int], None]
"""Gets the name of something, and how much of it is done by now; it raises nothing."""

SHUFFLE_KEY = "shuffle_key"
"""The int32 column that ``SpreadRows.exchange`` goes by."""


class SpreadRows(Protocol):
    """Rows spread over tasks; they are made when they are collected, or once when they are held."""

    def map(self, function: TaskFunction, schema: pa.Schema) -> SpreadRows:
        """What a function makes of the rows of each task, as batches of the schema."""
        ...

    def select(self, *columns: str) -> SpreadRows:
        """Some of the columns."""
        ...

    def where_null(self, column: str, *, is_null: bool) -> SpreadRows:
        """The rows that have no value in a column, or those that have one."""
        ...

    def union(self, other: SpreadRows) -> SpreadRows:
        """The rows of both, which have the same columns."""
        ...

    def exchange(self, count: int) -> SpreadRows:
        """The rows in so many tasks; those with the key of a task (``Runner.shuffle_keys``) in it.

        Not: no order of the rows of a task is promised.
        """
        ...

    def with_lists(
        self, others: SpreadRows, *, key: str, other_key: str, lists: Mapping[str, str]
    ) -> SpreadRows:
        """Each row with the values that other rows of its key have, as lists of equal length.

        Shapes: for each of the other rows' columns in ``lists`` a list column of the name given
            there; sorted by these columns in their order, null where no other row has the key.
            The others' columns have names that these rows do not have.
        """
        ...

    def sort(
        self,
        columns: Sequence[str],
        *,
        globally: bool,
        stable: bool,
        tasks: int | None,
        task_bytes: int,
    ) -> SpreadRows:
        """The rows of each task in the order of some text columns.

        Rows of equal values meet in one task when ``globally``, tasks following one another; with
        ``stable`` too, they are in the order of their arrival. ``tasks`` is how many there shall
        be; where it is None the runner aims at tasks of ``task_bytes``.
        """
        ...

    def few_a_batch(self) -> SpreadRows:
        """The same rows, large ones, of which a function gets a few a batch."""
        ...

    def hold(self) -> SpreadRows:
        """The same rows, which are made once and kept until they are released, not in memory."""
        ...

    def release(self) -> None:
        """Drop what is kept for these rows, which must be those that ``hold`` gave."""
        ...

    def collect(self, *columns: str) -> Sequence[Any]:
        """The rows, here; each has its values as attributes named by column, by default all."""
        ...


class Runner(Protocol):
    """Runs functions over tasks. There is one on Spark, and one in this process."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at once."""
        ...

    def tasks(self, count: int, function: NumberedFunction, schema: pa.Schema) -> SpreadRows:
        """What a function gives for each number below ``count``, a task each."""
        ...

    def shuffle_keys(self, count: int) -> npt.NDArray[np.int32]:
        """For each of so many tasks the value of ``SHUFFLE_KEY`` that sends a row there."""
        ...

    def hearing(self, hear: Hear) -> AbstractContextManager[Tell]:
        """What tasks within the context tell is heard here, at the latest when a task ends.

        Not: what a task tells whose attempt does not count.
        """
        ...

    def named(self, description: str) -> AbstractContextManager[Callable[[], int]]:
        """Name what runs within the context; gives a function that tells the bytes it spilled."""
        ...
