"""The runner on Spark: data frames of binary pieces, mapped by Python workers.

Nothing is decided here: which function runs in which task is the pipeline's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from pyhudi.errors import InvariantError
from pyhudi.runner.runner import SHUFFLE_KEY, Hear, NumberedFunction, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity, Tell
from pyhudi.spark.failures import explained
from pyhudi.spark.tasks.arrow_map import map_in_arrow
from pyhudi.spark.tasks.hearing import hearing
from pyhudi.spark.tasks.keys import hand_keys
from pyhudi.spark.tasks.requests import take_counts
from pyhudi.spark.tasks.shuffle_keys import shuffle_keys
from pyhudi.spark.tasks.spill import job_group, spilled_bytes

_FEW_A_BATCH: Final = {"spark.sql.execution.arrow.maxRecordsPerBatch": "16"}
"""Spark fills a batch by the number of its rows, and with the usual thousands of large ones a batch
would outgrow what Arrow can address."""

_ARRIVAL: Final = "_pyhudi_arrival"
_PARALLELISM_FIRST: Final = "spark.sql.adaptive.coalescePartitions.parallelismFirst"
_JOINED_BYTES: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRunner:
    """A Runner whose tasks are those of a Spark session."""

    session: SparkSession

    @property
    def parallelism(self) -> int:
        """How many tasks Spark runs at once by default."""
        with explained():
            return max(1, int(self.session.sparkContext.defaultParallelism))

    def tasks(self, count: int, function: NumberedFunction, schema: pa.Schema) -> SparkRows:
        """What a function gives for each number below ``count``, a task each."""

        def run(task: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from function(task, number)

        with explained():
            numbers = self.session.range(0, count, 1, numPartitions=max(1, count))
            return SparkRows(frame=map_in_arrow(numbers, run, schema))

    def shuffle_keys(self, count: int) -> npt.NDArray[np.int32]:
        """Ints that Spark's hash partitioning sends to each of so many tasks."""
        return shuffle_keys(count)

    def hearing(self, hear: Hear) -> AbstractContextManager[Tell]:
        """What tasks tell is heard when they end; one that goes on for long says it in its log."""
        return hearing(self.session.sparkContext, hear)

    @contextmanager
    def named(self, description: str) -> Iterator[Callable[[], int]]:
        """Name the Spark jobs that run within the context, as Spark's own pages show them.

        The requests that their tasks made are counted as this process's in the end.
        """
        with job_group(description) as group:
            yield lambda: spilled_bytes(group)
        take_counts()


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRows:
    """A data frame, and the ``settings`` it is run with. Methods are those of ``SpreadRows``.

    ``held`` is what Spark keeps for it.
    """

    frame: DataFrame
    settings: Mapping[str, str] = field(default_factory=dict)
    held: DataFrame | None = None

    def map(self, function: TaskFunction, schema: pa.Schema) -> SparkRows:
        """What a function makes of the rows of each task."""
        return self._of(map_in_arrow(self.frame, function, schema))

    def select(self, *columns: str) -> SparkRows:
        """Some of the columns."""
        return self._of(self.frame.select(*columns))

    def where_null(self, column: str, *, is_null: bool) -> SparkRows:
        """The rows that have no value in a column, or those that have one."""
        tested = self.frame[column]
        return self._of(self.frame.where(tested.isNull() if is_null else tested.isNotNull()))

    def union(self, other: SpreadRows) -> SparkRows:
        """The rows of both."""
        return self._of(self.frame.unionAll(_frame_of(other)))

    def exchange(self, count: int) -> SparkRows:
        """The rows in so many tasks, by their shuffle key."""
        return self._of(self.frame.repartition(count, SHUFFLE_KEY))

    def with_lists(
        self, others: SpreadRows, *, key: str, other_key: str, lists: Mapping[str, str]
    ) -> SparkRows:
        """Each row with the values that other rows of its key have, by a join."""
        by_key = _frame_of(others).groupBy(other_key)
        found = by_key.agg(F.sort_array(F.collect_list(F.struct(*lists))).alias("_found"))
        columns = (F.col(f"_found.{name}").alias(wanted) for name, wanted in lists.items())
        beside = found.select(other_key, *columns)
        joined = self.frame.join(beside, self.frame[key] == beside[other_key], "left")
        return self._of(joined.drop(other_key))

    def sort(
        self,
        columns: Sequence[str],
        *,
        globally: bool,
        stable: bool,
        tasks: int | None,
        task_bytes: int,
    ) -> SparkRows:
        """The rows of each task in order; ranges of them over all tasks when ``globally``.

        Left alone Spark joins ranges only as far as every core has one, which on a large cluster
        makes a heap of small tasks.
        """
        joining = {_PARALLELISM_FIRST: "false", _JOINED_BYTES: str(task_bytes)}
        settings, frame = {**self.settings, **joining}, self.frame
        if not globally:
            spread = frame.coalesce(tasks) if tasks else frame
            return SparkRows(frame=spread.sortWithinPartitions(*columns), settings=settings)
        if stable:
            frame = frame.withColumn(_ARRIVAL, F.monotonically_increasing_id())
        ranges = (
            frame.repartitionByRange(tasks, *columns)
            if tasks
            else frame.repartitionByRange(*columns)
        )
        by = (*columns, _ARRIVAL) if stable else columns
        ordered = ranges.sortWithinPartitions(*by).drop(_ARRIVAL)
        return SparkRows(frame=ordered, settings=settings)

    def few_a_batch(self) -> SparkRows:
        """The same rows, of which Spark hands Python a few at a time."""
        return replace(self, settings={**self.settings, **_FEW_A_BATCH})

    def hold(self) -> SparkRows:
        """The same rows, which Spark keeps on disk, not in its heap."""
        frame = self.frame.persist(StorageLevel.DISK_ONLY)
        return replace(self, frame=frame, held=frame)

    def release(self) -> None:
        """Let Spark drop the rows it keeps, which are gone already where its JVM is."""
        if self.held is not None:
            with suppress(Py4JError, OSError):
                self.held.unpersist()

    def collect(self, *columns: str) -> list[Any]:
        """The rows, here."""
        frame = self.frame.select(*columns) if columns else self.frame
        # Keys that end may be others by now than when the rows were mapped.
        hand_keys(frame.sparkSession.sparkContext)
        with explained(), _setting(frame.sparkSession, self.settings):
            return list(frame.collect())

    def _of(self, frame: DataFrame) -> SparkRows:
        return SparkRows(frame=frame, settings=self.settings)


def _frame_of(rows: SpreadRows) -> DataFrame:
    if not isinstance(rows, SparkRows):
        raise InvariantError(f"rows of another runner: {type(rows).__name__}")
    return rows.frame


@contextmanager
def _setting(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Settings of a session that hold while something is planned and run."""
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            spark.conf.set(name, str(earlier))
