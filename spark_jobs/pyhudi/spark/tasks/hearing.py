"""What Spark's tasks tell of their work, brought to the driver.

An accumulator of Spark's takes it along with the end of each task, and no earlier. A task that goes
on for long therefore says itself how far it is, on the standard error of its worker: the log of the
executor, or with a local master that of the job.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from pyspark import Accumulator, AccumulatorParam, SparkContext

from pyhudi.runner.runner import Hear
from pyhudi.runner.task import Tell

SILENCE_S: Final = 10.0
"""So long a task is silent at most while it has something to tell."""

Counts: TypeAlias = dict[str, int]


@contextmanager
def hearing(context: SparkContext, hear: Hear) -> Iterator[Tell]:
    """What tasks within the context tell is heard, when a task ends whose attempt counts."""
    highest = _Highest(hear)
    try:
        yield _Telling(context.accumulator({}, highest))
    finally:
        highest.hear = None


class _Highest(AccumulatorParam[Counts]):  # type: ignore[misc]
    """Adds up to the highest count of each name; in the driver, ``hear`` gets them instead."""

    def __init__(self, hear: Hear | None = None) -> None:
        self.hear = hear

    def __reduce__(self) -> tuple[type[_Highest], tuple[()]]:
        # Whoever hears is in the driver, and travels nowhere.
        return _Highest, ()

    def zero(self, value: Counts) -> Counts:
        del value
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:  # noqa: N802 - Spark's name
        for what, done in value2.items():
            if self.hear is None:
                value1[what] = max(done, value1.get(what, 0))
            else:
                self.hear(what, done)
        return value1


class _Telling:
    """A ``Tell`` that travels to the workers."""

    def __init__(self, heard: Accumulator[Counts]) -> None:
        self._heard = heard
        self._spoke: float | None = None

    def __call__(self, what: str, done: int, whole: int) -> None:
        self._heard.add({what: done})
        now = time.monotonic()
        self._spoke = now if self._spoke is None else self._spoke
        if now - self._spoke >= SILENCE_S:
            self._spoke = now
            of = f" of {whole:,}" if whole else ""
            sys.stderr.write(f"pyhudi: {what}: {done:,}{of} rows are done\n")
            sys.stderr.flush()
