"""What a job and each of its stages took and moved, and one log line for each."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyhudi.jobs.result import JobResult
from pyhudi.runner.runner import Runner
from pyhudi.storage.objects.requests import made, of_table, since, total

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Stage:
    """One stage of a job while it runs.

    ``rows`` and ``size_bytes`` are what it handed on; ``details`` are further numbers by name.

    Units: ``seconds`` of wall time; ``spilled_bytes`` is what the runner wrote to disk for lack
    of memory.
    """

    seconds: float = 0.0
    rows: int = 0
    size_bytes: int = 0
    spilled_bytes: int = 0
    details: dict[str, float] = field(default_factory=dict)

    def moved(self, rows: int, size_bytes: int) -> None:
        """Note what the stage handed on."""
        self.rows += rows
        self.size_bytes += size_bytes

    def as_dict(self) -> dict[str, float]:
        """The stage in plain numbers."""
        return {
            "seconds": round(self.seconds, 3),
            "rows": self.rows,
            "bytes": self.size_bytes,
            "spilled_bytes": self.spilled_bytes,
            **self.details,
        }


class Stopwatch:
    """Measures the stages of one job."""

    def __init__(self, table: str, runner: Runner) -> None:
        self._table, self._runner = table, runner
        self._started = time.perf_counter()
        self._stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Measure one stage, and log its end; its tasks run under its name."""
        stage = self._stages.setdefault(name, Stage())
        started, before = time.perf_counter(), made()
        with self._runner.named(f"{self._table}: {name}") as spilled_bytes:
            yield stage
            stage.spilled_bytes += spilled_bytes()
        requests = sum(map(total, since(before).values()))
        if requests:
            stage.details["requests"] = stage.details.get("requests", 0) + requests
        stage.seconds += time.perf_counter() - started
        _log.info("%s: %s took %s", self._table, name, _text(stage))

    def seconds(self) -> dict[str, float]:
        """Seconds of each stage and their total so far."""
        total = time.perf_counter() - self._started
        rounded = {name: round(stage.seconds, 3) for name, stage in self._stages.items()}
        return {"total": round(total, 3), **rounded}

    def stages(self) -> dict[str, Mapping[str, float]]:
        """The stages that have ended, by name."""
        return {name: stage.as_dict() for name, stage in self._stages.items() if stage.seconds}


def with_requests(work: Callable[[], JobResult]) -> JobResult:
    """The answer of a job, with the requests that were made to its table's store meanwhile.

    Not: two jobs on one table at once in one process are not told apart.
    """
    before = made()
    result = work()
    return replace(result, requests=of_table(since(before), result.base_path))


def _text(stage: Stage) -> str:
    parts = [f"{stage.seconds:.2f} s"]
    if stage.rows or stage.size_bytes:
        parts.append(f"{stage.rows:,} rows")
        parts.append(f"{stage.size_bytes / (1 << 20):,.1f} MiB")
    if stage.spilled_bytes:
        parts.append(f"{stage.spilled_bytes / (1 << 20):,.1f} MiB spilled")
    return ", ".join(parts)
