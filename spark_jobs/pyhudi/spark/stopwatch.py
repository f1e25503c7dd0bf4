"""Seconds per stage of a job, and one log line for each."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

_log = logging.getLogger(__name__)


class Stopwatch:
    """Measures the stages of one job, in seconds of wall time."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._started = time.perf_counter()
        self._stages: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure one stage and log its end."""
        started = time.perf_counter()
        yield
        seconds = time.perf_counter() - started
        self._stages[name] = self._stages.get(name, 0.0) + seconds
        _log.info("%s: %s took %.2f s", self._table, name, seconds)

    def seconds(self) -> dict[str, float]:
        """Seconds of each stage and their total so far."""
        total = time.perf_counter() - self._started
        rounded = {name: round(value, 3) for name, value in self._stages.items()}
        return {"total": round(total, 3), **rounded}
