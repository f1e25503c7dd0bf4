"""What a job answers, from the statistics of the files it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyhudi.actions.commit import NO_PREVIOUS_COMMIT, WriteStat, count_records
from pyhudi.jobs import JobResult, Status


def job_result(  # noqa: PLR0913 - one for each part of the answer
    status: Status,
    *,
    operation: str,
    table: str,
    base_path: str,
    instant: str | None = None,
    completion_time: str | None = None,
    stats: Sequence[WriteStat] = (),
    seconds: Mapping[str, float] | None = None,
) -> JobResult:
    """The answer of a job whose commit wrote these files, or that wrote none."""
    created = sum(stat.prev_commit == NO_PREVIOUS_COMMIT for stat in stats)
    return JobResult(
        status=status,
        instant=instant,
        completion_time=completion_time,
        operation=operation,
        table=table,
        base_path=base_path,
        records=count_records(stats),
        partitions=tuple(sorted({stat.partition_path or "" for stat in stats})),
        files={"created": created, "rewritten": len(stats) - created},
        bytes_written=sum(stat.total_write_bytes for stat in stats),
        seconds=seconds or {},
    )
