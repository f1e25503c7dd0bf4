"""Undo a write that did not complete.

::

    plan (from markers, or from a listing when they are gone)
      ── rollback requested ── inflight ── files deleted ── the write's instant files deleted
      ── rollback completed ── markers and heartbeat deleted

Every step can be done again: a rollback that dies is found pending and finished from its plan.

Source: BaseRollbackActionExecutor and MarkerBasedRollbackStrategy, Hudi 0.15.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

from pyhudi.actions.commit import CommitMetadata
from pyhudi.actions.rollback import (
    InstantInfo,
    RollbackMetadata,
    RollbackPartition,
    RollbackPlan,
    RollbackRequest,
)
from pyhudi.config.table import TableConfig
from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import (
    AlreadyExistsError,
    ConflictError,
    InvariantError,
    MissingFileError,
    StorageError,
)
from pyhudi.filegroup.listing import StorageListing
from pyhudi.filegroup.names import parse_log_file_name
from pyhudi.storage.storage import Storage
from pyhudi.table.table import Table
from pyhudi.timeline import active
from pyhudi.timeline.clock import Clock, next_instant_time
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.appended import (
    append_rollback_block,
    is_own_log,
    logs_with_blocks_of,
)
from pyhudi.transaction.clustering import clustered_by
from pyhudi.transaction.heartbeat import forget, is_alive, signed_instants
from pyhudi.transaction.markers import (
    delete_markers,
    delete_strays,
    marked_instants,
    read_markers,
)
from pyhudi.transaction.transaction import Writer

_DRAWS = 100
_log = logging.getLogger(__name__)


def writer_of(table: Table, clock: Clock, heartbeat: HeartbeatConfig) -> Writer:
    """One who writes a table, and whose writes are rolled back when they fail."""
    return Writer(
        storage=table.storage,
        config=table.config,
        clock=clock,
        heartbeat=heartbeat,
        undo=partial(roll_back, table.storage, table.config, clock),
    )


def recover(writer: Writer) -> tuple[str, ...]:
    """Bring the table back to where no write is pending; the instants that were undone.

    Raises:
        ConflictError: a pending write is alive.
    """
    storage, config = writer.storage, writer.config
    for pending in active.load(storage, config.version).pending():
        # That of a compaction is finished by whoever runs it next, and may be by a live one.
        if pending.action is Action.ROLLBACK and not _is_of_compaction(writer, pending):
            _finish(storage, config, pending.time)
    timeline = active.load(storage, config.version)
    undone = []
    for instant in timeline.pending_writes():
        if clustered_by(storage, config.version, instant) is not None:
            continue
        now_ms = writer.clock.now_ms()
        if is_alive(storage, instant.time, now_ms=now_ms, config=writer.heartbeat):
            raise ConflictError(
                f"another writer is at work (instant {instant.time}); retry when it has ended",
                where=storage.uri,
            )
        roll_back(storage, config, writer.clock, instant.time)
        undone.append(instant.time)
    _sweep(writer)
    return tuple(undone)


def roll_back(storage: Storage, config: TableConfig, clock: Clock, instant: str) -> None:
    """Undo one pending write: afterwards the table is as it was before it.

    Raises:
        InvariantError: the instant is completed.
        StorageError: the storage failed; the next writer goes on from where this one came.
    """
    timeline = active.load(storage, config.version)
    write = next((found for found in timeline.write_instants() if found.time == instant), None)
    if write is None:
        return
    if write.is_completed:
        raise InvariantError(f"instant {instant} is completed and cannot be rolled back here")
    plan = plan_rollback(storage, write)
    _log.warning("%s: rolling back instant %s, which did not complete", config.name, instant)
    _finish(storage, config, _requested(storage, config, clock, plan))


def revert_compaction(storage: Storage, config: TableConfig, clock: Clock, instant: str) -> None:
    """Undo what a run of a compaction did, so that its plan is as when it was requested.

    A rollback of it that did not end is finished first. To be called by the one who runs it.

    Raises:
        StorageError: the storage failed; the next run goes on from where this one came.
    Source: HoodieTable.rollbackInflightCompaction, Hudi 0.15 and 1.1.
    """
    timeline = active.load(storage, config.version)
    for at in rollbacks_of(storage, config, timeline.pending(), instant):
        _finish(storage, config, at)
    inflight = Instant(time=instant, action=Action.COMPACTION, state=State.INFLIGHT)
    if inflight not in active.load(storage, config.version).instants:
        return
    _log.warning("%s: rolling back an earlier run of compaction %s", config.name, instant)
    _requested(storage, config, clock, plan_rollback(storage, inflight))
    # A request that failed after it had landed is there twice, and nobody would end the first.
    for at in rollbacks_of(
        storage, config, active.load(storage, config.version).pending(), instant
    ):
        _finish(storage, config, at)


def rollbacks_of(
    storage: Storage, config: TableConfig, timeline: Timeline, instant: str
) -> tuple[str, ...]:
    """The rollbacks of an instant that are on a timeline."""
    return tuple(
        found.time
        for found in timeline
        if found.action is Action.ROLLBACK
        and (target := _target(storage, config, found)) is not None
        and target.time == instant
    )


def _is_of_compaction(writer: Writer, rollback: Instant) -> bool:
    target = _target(writer.storage, writer.config, rollback)
    return target is not None and target.action == Action.COMPACTION.value


def _target(storage: Storage, config: TableConfig, rollback: Instant) -> InstantInfo | None:
    """What a rollback undoes; None when that cannot be known."""
    requested = Instant(time=rollback.time, action=Action.ROLLBACK, state=State.REQUESTED)
    try:
        data = active.read_state(storage, config.version, requested)
    except MissingFileError:
        return None
    return RollbackPlan.from_bytes(data, where=rollback.time).instant


def plan_rollback(storage: Storage, write: Instant) -> RollbackPlan:
    """Which files a pending write may have left; nothing is deleted yet.

    Markers tell; without any, which a crash between two deletions can leave, a listing does. Log
    files go too, unless another write has blocks in them: those get a block that takes back.

    Source: MarkerBasedRollbackStrategy, Hudi 0.15, which takes back blocks of log files always.
    """
    marked = {found.path for found in read_markers(storage, write.time)}
    if not marked:
        files = StorageListing(storage).all_files()
        marked = {file.path for file in files if file.instant == write.time}
        if write.action is not Action.COMPACTION:  # which writes no log files
            marked.update(logs_with_blocks_of(storage, write.time))
    by_partition: dict[str, list[str]] = defaultdict(list)
    appended: list[RollbackRequest] = []
    for path in sorted(marked):
        partition, _, name = path.rpartition("/")
        log = parse_log_file_name(name)
        if log is None or is_own_log(storage, path, write.time):
            by_partition[partition].append(storage.absolute(path))
        elif (status := storage.status(path)) is not None:
            appended.append(
                RollbackRequest(
                    partition=partition,
                    file_id=log.file_id,
                    latest_base_instant=log.base_instant,
                    log_blocks={name: status.size_bytes},
                )
            )
    deleting = (
        RollbackRequest(partition=partition, files_to_delete=tuple(files))
        for partition, files in by_partition.items()
    )
    return RollbackPlan(
        instant=InstantInfo(time=write.time, action=write.action.value),
        requests=(*deleting, *appended),
    )


def _requested(storage: Storage, config: TableConfig, clock: Clock, plan: RollbackPlan) -> str:
    try:
        return _request(storage, config, clock, plan)
    except StorageError:
        # A full disk cannot take the plan before it has lost the files of the failed write.
        _delete_files(storage, plan)
        return _request(storage, config, clock, plan)


def _request(storage: Storage, config: TableConfig, clock: Clock, plan: RollbackPlan) -> str:
    for _ in range(_DRAWS):
        latest = active.load(storage, config.version).latest_time
        at = next_instant_time(clock, config.timezone, latest)
        requested = Instant(time=at, action=Action.ROLLBACK, state=State.REQUESTED)
        try:
            active.write_state(storage, config.version, requested, plan.to_bytes())
        except AlreadyExistsError:
            continue
        return at
    raise ConflictError(
        f"no free instant time after {_DRAWS} tries; other writers are very busy, retry",
        where=storage.uri,
    )


def _finish(storage: Storage, config: TableConfig, at: str) -> None:
    """Carry out the rollback requested at an instant, from the beginning or from midway."""
    version, started = config.version, time.perf_counter()
    requested = Instant(time=at, action=Action.ROLLBACK, state=State.REQUESTED)
    plan = RollbackPlan.from_bytes(active.read_state(storage, version, requested), where=at)
    inflight = Instant(time=at, action=Action.ROLLBACK, state=State.INFLIGHT)
    _write_once(storage, config, inflight, b"")
    deleted = _delete_files(storage, plan)
    appended = _take_back_blocks(storage, plan, at)
    is_compaction = plan.instant.action == Action.COMPACTION.value
    states = (State.INFLIGHT,) if is_compaction else (State.INFLIGHT, State.REQUESTED)
    for state in states:
        undone = Instant(time=plan.instant.time, action=Action(plan.instant.action), state=state)
        active.remove(storage, version, undone)
    metadata = RollbackMetadata(
        start_time=at,
        time_taken_ms=int((time.perf_counter() - started) * 1000),
        instants=(plan.instant,),
        partitions=_with_log_files(deleted, appended),
    )
    done = Instant(time=at, action=Action.ROLLBACK, state=State.COMPLETED)
    _write_once(storage, config, done, metadata.to_bytes())
    if not is_compaction:  # whose next run looks after them
        delete_markers(storage, plan.instant.time)
        forget(storage, plan.instant.time)


def _write_once(storage: Storage, config: TableConfig, instant: Instant, data: bytes) -> None:
    try:
        active.write_state(storage, config.version, instant, data)
    except AlreadyExistsError:
        # Another writer finishes the same rollback; its steps are the same.
        return


def _delete_files(storage: Storage, plan: RollbackPlan) -> dict[str, RollbackPartition]:
    root = storage.absolute("") + "/"
    for request in plan.requests:
        for file in request.files_to_delete:
            storage.delete(file.removeprefix("file:").removeprefix(root))
    deleted: dict[str, tuple[str, ...]] = {}
    for request in plan.requests:
        before = deleted.get(request.partition, ())
        deleted[request.partition] = (*before, *request.files_to_delete)
    return {path: RollbackPartition(deleted=files) for path, files in deleted.items()}


def _take_back_blocks(storage: Storage, plan: RollbackPlan, at: str) -> dict[str, dict[str, int]]:
    """The log files that got a block to take others back, with their sizes, by partition."""
    appended: dict[str, dict[str, int]] = defaultdict(dict)
    for request in plan.requests:
        for file in islice(request.log_blocks, 1):
            slice_of = parse_log_file_name(file.rsplit("/", 1)[-1])
            if slice_of is None:
                continue
            path = append_rollback_block(
                storage, request.partition, slice_of, at=at, target=plan.instant.time
            )
            status = storage.status(path)
            size = 0 if status is None else status.size_bytes
            appended[request.partition][_with_scheme(storage.absolute(path))] = size
    return appended


def _with_scheme(path: str) -> str:
    """A path as Hudi names these files, and no others."""
    return f"file:{path}" if path.startswith("/") else path


def _with_log_files(
    deleted: Mapping[str, RollbackPartition], appended: Mapping[str, Mapping[str, int]]
) -> dict[str, RollbackPartition]:
    return {
        partition: replace(
            deleted.get(partition, RollbackPartition()), log_files=appended.get(partition, {})
        )
        for partition in sorted({*deleted, *appended})
    }


def _sweep(writer: Writer) -> None:
    """Forget what ended writes left behind: markers, heartbeats, files of tasks that went on.

    A task that Spark could not stop in time may leave its marker, and its file, after its write was
    committed or rolled back.
    """
    storage, config = writer.storage, writer.config
    # Listed before the timeline is: a write that begins in between must be on it.
    marked, signed = marked_instants(storage), signed_instants(storage)
    timeline = active.load(storage, config.version)
    writes = {found.time: found for found in timeline.write_instants()}
    for instant in marked:
        write = writes.get(instant)
        if write is None and _was_undone(storage, config, timeline, instant):
            delete_strays(storage, instant, ())
        if write is not None and write.is_completed:
            _delete_uncommitted(storage, config, write)
        if write is None or write.is_completed:
            delete_markers(storage, instant)
    for instant in signed:
        now_ms = writer.clock.now_ms()
        write = writes.get(instant)
        if write is None:
            is_over = not is_alive(storage, instant, now_ms=now_ms, config=writer.heartbeat)
        else:
            is_over = write.is_completed
        if is_over:
            forget(storage, instant)


def _delete_uncommitted(storage: Storage, config: TableConfig, write: Instant) -> None:
    data = active.read_state(storage, config.version, write)
    metadata = CommitMetadata.from_bytes(data, where=write.time)
    committed = {stat.path for stat in metadata.write_stats if stat.path}
    if committed:
        delete_strays(storage, write.time, committed)


def _was_undone(storage: Storage, config: TableConfig, timeline: Timeline, instant: str) -> bool:
    """Whether a write that is not on the timeline was rolled back, rather than archived."""
    if not timeline.is_committed(instant):
        return True
    for found in timeline:
        if found.action is Action.ROLLBACK:
            target = _target(storage, config, found)
            # A compaction that was rolled back may have been run again.
            if target is not None and target.time == instant:
                return target.action != Action.COMPACTION.value
    return False
