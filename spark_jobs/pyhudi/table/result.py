"""What a job answers, from the statistics of the files it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyhudi.actions.commit import NO_PREVIOUS_COMMIT, WriteStat, count_records
from pyhudi.config.options.table import TABLE_NAME
from pyhudi.errors import LateSourceError, MissingSourceError
from pyhudi.jobs.result import JobResult, Status
from pyhudi.jobs.upsert import UpsertRequest


def job_result(  # noqa: PLR0913 - one for each part of the answer
    status: Status,
    *,
    operation: str,
    table: str,
    base_path: str,
    instant: str | None = None,
    completion_time: str | None = None,
    stats: Sequence[WriteStat] = (),
    replaced: Mapping[str, Sequence[str]] | None = None,
    seconds: Mapping[str, float] | None = None,
    stages: Mapping[str, Mapping[str, float]] | None = None,
    failures: Mapping[str, Any] | None = None,
    failed_records: int = 0,
    ignored: int | None = None,
    reason: str | None = None,
) -> JobResult:
    """The answer of a job whose commit wrote these files, or that wrote none.

    ``ignored`` counts ignored records where the statistics do not know it.

    Shapes: ``replaced`` has the file ids of hidden file groups by partition path.
    """
    hidden = {path: len(ids) for path, ids in (replaced or {}).items() if ids}
    records = count_records(stats)
    if ignored is not None:
        records["ignored"] = ignored
    # A commit without files has no statistics to count failed records in.
    records["failed"] = max(records["failed"], failed_records)
    appended = sum(stat.log_files is not None for stat in stats)
    created = sum(stat.prev_commit == NO_PREVIOUS_COMMIT for stat in stats)
    return JobResult(
        status=status,
        instant=instant,
        completion_time=completion_time,
        operation=operation,
        table=table,
        base_path=base_path,
        records=records,
        partitions=tuple(sorted({*hidden, *(stat.partition_path or "" for stat in stats)})),
        files={
            "created": created,
            "rewritten": len(stats) - created - appended,
            "appended": appended,
            "replaced": sum(hidden.values()),
        },
        bytes_written=sum(stat.total_write_bytes for stat in stats),
        seconds=seconds or {},
        stages=stages or {},
        failures=failures or {},
        reason=reason,
    )


def without_source(request: UpsertRequest, error: MissingSourceError) -> JobResult:
    """The answer to a request whose source is not there, where that is to be skipped.

    Raises:
        MissingSourceError: the one given, where the source has to be there.
        LateSourceError: the source is expected later.
    """
    if request.if_source_missing == "retry":
        raise LateSourceError(str(error)) from error
    if request.if_source_missing != "skip":
        raise error
    return job_result(
        "skipped",
        operation=request.operation_name,
        table=TABLE_NAME.read(request.options()),
        base_path=request.base_path,
        reason=str(error),
    )
