"""What runs after a write was committed: cleaning, archiving, compactions."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pyarrow as pa

from pyhudi.errors import HudiError
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.archive import archive_after
from pyhudi.pipeline.clean import clean_after
from pyhudi.pipeline.compaction import compact_after
from pyhudi.pipeline.write_run import WriteRun

_SERVICES: tuple[tuple[str, Callable[[WriteRun, JobResult], None]], ...] = (
    ("cleaned", clean_after),
    ("archived", archive_after),
    ("compacted", compact_after),
)
"""In Hudi's order, with what the table is not where one fails."""

_FAILURES = (
    *(HudiError, pa.ArrowException, OSError, MemoryError),
    *(LookupError, TypeError, ValueError),
)
"""What storage, tasks and odd metadata raise: whoever is told that a write failed repeats it."""

_log = logging.getLogger(__name__)


def serve_after(run: WriteRun, result: JobResult) -> None:
    """Run the services of a table that its options ask for, once a write is committed.

    Guarantees: the write stays committed whatever happens to them; what fails is a warning in the
        log, and the others run all the same.
    Source: BaseHoodieWriteClient.commitStats, Hudi 0.15: mayBeCleanAndArchive, then
        runTableServicesInline.
    """
    if result.status != "committed" or not run.config.services.is_enabled:
        return
    for what, serve in _SERVICES:
        try:
            serve(run, result)
        except _FAILURES as failure:  # noqa: PERF203 - one failure leaves the others to run
            _log.warning("%s: the write is committed, but not %s: %s", result.table, what, failure)
