"""The requests that Spark's tasks made to object stores, brought to the driver.

An accumulator of Spark's takes them along with the end of each task. Those of a task that failed
are lost with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from pyspark import Accumulator, AccumulatorParam, SparkContext

from pyhudi.storage.objects.requests import add, made, since

Counts = dict[str, dict[str, int]]

_counters: WeakKeyDictionary[SparkContext, Accumulator[Counts]] = WeakKeyDictionary()


class _Sum(AccumulatorParam[Counts]):  # type: ignore[misc]
    def zero(self, value: Counts) -> Counts:
        del value
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:  # noqa: N802 - Spark's name
        for where, counts in value2.items():
            mine = value1.setdefault(where, {})
            for name, count in counts.items():
                mine[name] = mine.get(name, 0) + count
        return value1


def counter_of(context: SparkContext) -> Accumulator[Counts]:
    """What tasks of a Spark context count to."""
    if context not in _counters:
        _counters[context] = context.accumulator({}, _Sum())
    return _counters[context]


@contextmanager
def counted(counter: Accumulator[Counts]) -> Iterator[None]:
    """Count the requests that a worker makes within the context."""
    before = made()
    try:
        yield
    finally:
        found = since(before)
        if found:
            counter.add(found)


def take_counts() -> None:
    """Count what tasks have made by now as this process's."""
    context = SparkContext._active_spark_context
    counter = None if context is None else _counters.get(context)
    if counter is not None and counter.value:
        found, counter.value = counter.value, {}
        add(found)
