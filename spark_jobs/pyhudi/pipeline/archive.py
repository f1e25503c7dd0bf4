"""Archiving from request to result, and after a write."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from pyhudi.config.known import check_known
from pyhudi.config.options.archive import LEAST_COMMITS, ArchiveConfig
from pyhudi.config.write import WriteConfig
from pyhudi.jobs.archive import ARCHIVE, ArchiveRequest
from pyhudi.jobs.result import JobResult, Status
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.stopwatch import Stopwatch
from pyhudi.pipeline.write_run import WriteRun
from pyhudi.runner.runner import Runner
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.archive import Archived, archive, find_archivable
from pyhudi.services.archive_plan import instants_to_keep
from pyhudi.services.recovery import writer_of
from pyhudi.table.table import Table, load_table
from pyhudi.timeline.active import ActiveTimeline, StateFile
from pyhudi.timeline.instant import Instant

# Fewer files are deleted here, before tasks would have begun.
_FILES_A_TASK = 100
_DELETED = pa.schema([pa.field("deleted", pa.int64())])
_log = logging.getLogger(__name__)


def archive_table(environment: Environment, request: ArchiveRequest) -> JobResult:
    """Carry out a request to archive the instants that a table's timeline has too many of.

    Raises:
        RequestError: options that do not fit.
        CorruptTableError: a file of an instant that cannot be read.
        PlatformError: disk, network or runner failed; the next run goes on from there.
    """
    options = request.options()
    check_known(options)
    config = WriteConfig.from_options(options)
    archive = config.services.archive
    table = load_table(environment.open_storage(request.base_path))
    watch = Stopwatch(table.config.name, environment.runner)
    if request.dry_run:
        with watch.stage("plan"):
            found = planned_instants(table, archive)
        return _planned(table, watch, found) if found else _nothing(table, watch, archive)
    with watch.stage("archive"):
        done = _archive(environment, table, config)
    if not done.files:
        return _nothing(table, watch, archive)
    return replace(
        _result(table, watch, "archived"),
        files={"instants": len(done.instants), "deleted": done.files, "created": done.archives},
        bytes_written=done.bytes_written,
    )


def archive_after(run: WriteRun, result: JobResult) -> None:
    """Archive after a write, as its options ask for.

    Source: BaseHoodieWriteClient.mayBeCleanAndArchive, Hudi 0.15 and 1.1.
    """
    config = run.config.services.archive
    if not config.is_automatic or result.status != "committed":
        return
    known = run.target.table
    table = load_table(run.target.storage) if known is None else known.refresh()
    if find_archivable(table, config):
        with run.watch.stage("archive"):
            _archive(run.environment, table, run.config)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedInstant:
    """An instant that is to be archived: its files on the timeline, and their bytes."""

    instant: Instant
    files: int
    size_bytes: int


def planned_instants(table: Table, config: ArchiveConfig) -> tuple[PlannedInstant, ...]:
    """The instants that would be archived now, oldest first."""
    chosen = find_archivable(table, config)
    files: dict[tuple[str, str], list[StateFile]] = {each.identity: [] for each in chosen}
    if chosen:
        for file in table.active.state_files():
            if file.instant.identity in files:
                files[file.instant.identity].append(file)
    return tuple(
        PlannedInstant(
            instant=each,
            files=len(files[each.identity]),
            size_bytes=sum(file.size_bytes for file in files[each.identity]),
        )
        for each in chosen
    )


def _archive(environment: Environment, table: Table, asked: WriteConfig) -> Archived:
    config = asked.services.archive
    remove = partial(_remove, environment.runner, table.active, config.delete_parallelism)
    least, _ = instants_to_keep(table.timeline, config)
    if least > config.least_commits:
        _log.info(
            "%s: %d commits stay instead of %s=%d, as cleans keep the files of %d",
            *(table.config.name, least, LEAST_COMMITS.key, config.least_commits, least - 2),
        )
    writer = writer_of(
        table,
        environment.clock,
        asked.heartbeat,
        gate=environment.gate(table.storage, asked),
        concurrency=asked.concurrency,
    )
    done = archive(writer, config, remove)
    if done.files:
        _log.info(
            "%s: %d instants archived, %s to %s",
            table.config.name,
            len(done.instants),
            done.instants[0].time,
            done.instants[-1].time,
        )
    return done


def _remove(
    runner: Runner, active: ActiveTimeline, parallelism: int, files: Sequence[StateFile]
) -> None:
    """Delete files in any order; many of them as tasks."""
    count = min(len(files) // _FILES_A_TASK, parallelism)
    if count < 2:
        for file in files:
            active.remove_file(file)
        return
    shares = [tuple(files[number::count]) for number in range(count)]

    def delete(_: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        for file in shares[number]:
            active.remove_file(file)
        yield pa.record_batch([pa.array([len(shares[number])])], schema=_DELETED)

    runner.tasks(count, delete, _DELETED).collect()


def _planned(table: Table, watch: Stopwatch, planned: Sequence[PlannedInstant]) -> JobResult:
    return replace(
        _result(table, watch, "planned"),
        files={
            "instants": len(planned),
            "planned": sum(each.files for each in planned),
        },
        by_instant={
            each.instant.time: {
                "action": each.instant.action.value,
                "files": each.files,
                "bytes": each.size_bytes,
            }
            for each in planned
        },
        reason="it was only to look",
    )


def _nothing(table: Table, watch: Stopwatch, config: ArchiveConfig) -> JobResult:
    _, most = instants_to_keep(table.timeline, config)
    reason = f"the timeline has no more than {most} commits, or none that may leave it"
    return replace(_result(table, watch, "nothing_to_do"), reason=reason)


def _result(table: Table, watch: Stopwatch, status: Status) -> JobResult:
    return JobResult(
        status=status,
        operation=ARCHIVE,
        table=table.config.name,
        base_path=table.storage.uri,
        seconds=watch.seconds(),
        stages=watch.stages(),
    )
