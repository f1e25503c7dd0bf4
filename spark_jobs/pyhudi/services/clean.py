"""Plan a clean, and carry it out.

::

    plan (pure) ── clean requested ── what is needed by now taken out ── inflight
      ── files deleted ── emptied partitions deleted ── clean completed

Every step can be done again: a clean that dies is found pending and finished from its plan, by
whoever cleans next. Nobody is kept out, neither writers nor others who finish the same clean: what
is deleted is what no retained instant needs.

Who makes a savepoint or rolls a write back says so on the timeline, and looks at cleans afterwards;
who cleans looks at savepoints and rollbacks after its own request. One of the two sees the other.

Source: CleanPlanActionExecutor and CleanActionExecutor, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pyhudi.actions.clean import (
    SAVEPOINTS,
    CleanedPartition,
    CleanMetadata,
    CleanPlan,
    RetainedInstant,
)
from pyhudi.config.options.clean import CleanConfig
from pyhudi.errors import AlreadyExistsError, ConflictError, located
from pyhudi.filegroup.names import (
    PARTITION_METADATA_PREFIX,
    file_path,
    inner_path,
    path_to_delete,
)
from pyhudi.filegroup.slices import GroupId
from pyhudi.read import retention
from pyhudi.services.clean_plan import (
    CleanedFiles,
    Protected,
    earliest_retained,
    files_of,
    files_to_clean,
    is_due,
    still_needed,
    touched_partitions,
)
from pyhudi.services.clean_sources import unneeded_sources
from pyhudi.services.rollback import rollback_target
from pyhudi.storage.storage import Storage
from pyhudi.table.files import TableFiles
from pyhudi.table.pending import pending_plans
from pyhudi.table.properties_file import load_config
from pyhudi.table.savepoints import as_restored, saved_files, saved_instants
from pyhudi.table.table import Table
from pyhudi.timeline.clock import Clock, instant_time
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer, check_timeline_counts
from pyhudi.transaction.instant_run import complete_instant, draw_instant
from pyhudi.transaction.spans import nobody_writing

_MS_OF_HOUR = 3_600_000
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a clean is to do: its plan, and the sizes of the files that are there.

    ``retained`` is the earliest instant that other cleans leave, where a plan came late; what this
    one leaves may begin before it.
    """

    plan: CleanPlan
    files: CleanedFiles
    retained: str = ""


DeleteFiles = Callable[[Instant, Decision], None]
"""Deletes the files that the decision for a planned clean names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a clean did, and the bytes of the files that were there still when this run came."""

    instant: str
    metadata: CleanMetadata
    size_bytes: int


def decide_clean(table: Table, config: CleanConfig, clock: Clock) -> Decision | None:
    """What is to be cleaned in a table now; None when no clean is due or there is nothing.

    Source: CleanPlanner, Hudi 0.15.
    """
    timeline, last = table.timeline, _last_clean(table)
    if not is_due(timeline, config, last.last_completed):
        return None
    now_ms = clock.now_ms()
    cutoff = instant_time(now_ms - config.hours_retained * _MS_OF_HOUR, table.config.timezone)
    earliest = earliest_retained(timeline, config, cutoff)
    if earliest is None and config.policy.counts_instants:
        return None
    savepoints = saved_instants(table.active, timeline)
    partitions = _partitions(table, config, last, earliest, savepoints)
    files = table.files(partitions)
    protected = _protected(table, files)
    found = files_to_clean(
        _with_change_data(files).file_groups(), _names(files), protected, config, earliest
    )
    if not found.count:
        return None
    commits = timeline.write_instants().completed()
    plan = CleanPlan(
        earliest=None if earliest is None else _retained(earliest),
        last_completed="" if commits.last is None else commits.last.time,
        policy=config.policy.value,
        paths=_paths(table.storage, found),
        emptied=found.emptied,
        sources=found.sources,
        extra_metadata=_extra(table, savepoints),
    )
    return Decision(plan=plan, files=found)


def request_clean(writer: Writer, decision: Decision) -> Instant:
    """Put the plan of a clean on the timeline."""
    active = writer.active

    def take(at: str) -> bool:
        try:
            active.request(_clean(at), decision.plan)
        except AlreadyExistsError:
            return False
        return True

    with writer.gate.hold():
        return _clean(draw_instant(active, writer.clock, take))


def pending_cleans(table: Table) -> tuple[Instant, ...]:
    """The cleans that are planned and not done, oldest first."""
    return tuple(found for found in table.timeline.pending() if found.action is Action.CLEAN)


def still_planned(
    table: Table, clean: Instant, decision: Decision | None = None
) -> Decision | None:
    """What a clean that is on the timeline has to delete now; None where its file is empty.

    To be asked right before anything is deleted. ``decision`` is what it was planned by, on the
    table as it is given here: it holds while nothing else has come to the timeline.

    Raises:
        WriterAtWorkError: the table was given another version, whose timeline says what it needs.
    """
    now = replace(table, timeline=as_restored(table.active, table.active.load()))
    others = tuple(each for each in now.timeline if each.identity != clean.identity)
    is_same = others == table.timeline.instants and _undone(now) == now
    if decision is not None and is_same:
        return decision
    check_timeline_counts(table, load_config(table.storage))
    return planned_files(now, clean)


def planned_files(table: Table, clean: Instant) -> Decision | None:
    """What a clean that was planned earlier has to delete still; None where its file is empty.

    What the table has come to need since then stays.

    Raises:
        CorruptTableError: the plan names other files than data files of their partitions.
    """
    plan = table.active.read_clean_plan(clean)
    if plan is None:
        return None
    with located(table.active.where(clean)):
        _check_paths(plan)
    partitions = sorted({*plan.paths, *plan.emptied})
    files = table.files(partitions)
    groups = _with_change_data(files).file_groups()
    needed = still_needed(files.latest_slices(), groups, _protected(table, files))
    undone = _undone(table)
    if undone != table:
        slices = undone.files(partitions).latest_slices()
        needed |= {name for each in slices for name, _ in files_of(each)}
    sizes = _sizes(files)
    left = {
        partition: {
            name: sizes[partition][name]
            for name in names
            if name in sizes[partition] and name not in needed
        }
        for partition, names in plan.names.items()
    }
    paths = {
        partition: tuple(path for path in paths if path.rsplit("/", 1)[-1] not in needed)
        for partition, paths in plan.paths.items()
    }
    saved = plan.savepoints | saved_instants(table.active, table.timeline)
    extra = {**plan.extra_metadata, **_extra(table, saved)}
    sources = unneeded_sources(table.storage, plan, needed)
    return Decision(
        plan=replace(plan, paths=paths, sources=sources, extra_metadata=extra),
        files=CleanedFiles(sizes=left, emptied=plan.emptied),
        retained=retention.earliest_retained(table, but=clean) or "",
    )


def finish_clean(
    writer: Writer, clean: Instant, decision: Decision | None, delete: DeleteFiles
) -> Finished | None:
    """Carry out a clean that is requested, from the beginning or from midway.

    Without a ``decision`` its file is empty: it is taken from the timeline, as Hudi does.

    Guarantees: whoever else finishes it takes the same steps.
    """
    active, started = writer.active, time.perf_counter()
    if decision is None:
        for state in (State.INFLIGHT, State.REQUESTED):
            active.remove(clean.in_state(state))
        return None
    plan = decision.plan
    with contextlib.suppress(AlreadyExistsError):
        active.start(clean, plan)
    delete(clean, decision)
    emptied = _delete_emptied(writer, plan)
    metadata = CleanMetadata(
        start_time=clean.time,
        time_taken_ms=int((time.perf_counter() - started) * 1000),
        # The last clean tells readers what they can go back to, whichever clean deleted it.
        earliest="" if plan.earliest is None else max(plan.earliest.time, decision.retained),
        last_completed=max(plan.last_completed, decision.retained),
        policy=plan.policy,
        partitions={
            partition: CleanedPartition(
                deleted=names,
                is_partition_deleted=partition in emptied,
                sources=plan.sources.get(partition, ()),
            )
            for partition, names in plan.names.items()
        },
        extra_metadata=plan.extra_metadata,
    )
    with contextlib.suppress(AlreadyExistsError), writer.gate.hold():
        complete_instant(active, clean, metadata, writer.clock)
    return Finished(instant=clean.time, metadata=metadata, size_bytes=decision.files.size_bytes)


def _clean(at: str) -> Instant:
    return Instant(time=at, action=Action.CLEAN, state=State.REQUESTED)


def _last_clean(table: Table) -> CleanMetadata:
    done = [found for found in table.timeline.completed() if found.action is Action.CLEAN]
    return table.active.read_clean(done[-1]) if done else CleanMetadata(earliest="")


def _partitions(
    table: Table,
    config: CleanConfig,
    last: CleanMetadata,
    earliest: Instant | None,
    savepoints: frozenset[str],
) -> tuple[str, ...] | None:
    """The partitions to look into; None for all of them.

    Only those written since the last clean can have what it left, and those of savepoints that
    are gone since.
    """
    commits = table.timeline.write_instants()
    first = commits.first
    is_known = first is not None and last.earliest >= first.time
    if earliest is None or not config.is_incremental or not last.earliest or not is_known:
        return None
    found = touched_partitions(
        table.timeline, last.earliest, earliest.time, lambda each: _written_by(table, each)
    )
    if not table.config.partition_fields:
        return found
    freed = last.savepoints - savepoints
    by_time = {each.time: each for each in commits.completed()}
    if not freed <= by_time.keys():
        return None  # which partitions an archived commit wrote is not looked up
    more = (partition for time in freed for partition in _written_by(table, by_time[time]))
    return tuple(sorted({*found, *more}))


def _written_by(table: Table, commit: Instant) -> Iterator[str]:
    metadata = table.active.read_replace_commit(commit)
    yield from metadata.commit.partition_to_write_stats
    yield from metadata.partition_to_replaced_file_ids


def _check_paths(plan: CleanPlan) -> None:
    for partition, paths in plan.paths.items():
        for path in paths:  # a mere name in plans of version 1
            path_to_delete(path if "/" in path else file_path(partition, path), partition)
    for partition in filter(None, plan.emptied):
        inner_path(partition)


def _undone(table: Table) -> Table:
    """The table as it will be when the rollbacks that are pending have ended."""
    found = (rollback_target(table.active, each) for each in table.timeline.pending())
    times = {target.time for target in found if target is not None}
    return replace(
        table,
        timeline=Timeline(
            tuple(
                each.in_state(State.INFLIGHT)
                if each.time in times and each.action.writes_rows and each.is_completed
                else each
                for each in table.timeline
            )
        ),
    )


def _protected(table: Table, files: TableFiles) -> Protected:
    compacting: dict[GroupId, str] = {}
    for action in (Action.COMPACTION, Action.LOG_COMPACTION):
        for _, plan in pending_plans(table.active, table.timeline, action):
            for each in plan.operations:
                known = compacting.get(each.file_group, each.base_instant)
                compacting[each.file_group] = min(known, each.base_instant)
    paths = saved_files(table.active, table.timeline)
    saved = frozenset(path.rpartition("/")[2] for path in paths)
    return Protected(saved=saved, compacting=compacting, replaced=files.replaced)


def _with_change_data(files: TableFiles) -> TableFiles:
    """The files with change data among the log files, which goes with its slice."""
    return replace(files, log_files=(*files.log_files, *files.cdc_files))


def _sizes(files: TableFiles) -> Mapping[str, Mapping[str, int]]:
    """The bytes of every data file by partition path and name."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for base in files.base_files:
        found[base.partition][base.name] = base.size_bytes
    for log in (*files.log_files, *files.cdc_files):
        found[log.partition][str(log.name)] = log.size_bytes
    return found


def _names(files: TableFiles) -> dict[str, frozenset[str]]:
    return {partition: frozenset(names) for partition, names in _sizes(files).items()}


def _retained(earliest: Instant) -> RetainedInstant:
    return RetainedInstant(
        time=earliest.time, action=earliest.action.value, state=earliest.state.name
    )


def _paths(storage: Storage, files: CleanedFiles) -> dict[str, tuple[str, ...]]:
    """The paths of files as Hudi's plans have them: with the scheme where there is a store."""
    is_store = "://" in storage.uri and not storage.uri.startswith("file:")
    root = storage.uri.rstrip("/") if is_store else storage.absolute("")
    return {
        partition: tuple(f"{root}/{file_path(partition, name)}" for name in sorted(names))
        for partition, names in files.sizes.items()
    }


def _extra(table: Table, savepoints: Iterable[str]) -> dict[str, str]:
    """The savepoints there are, by which the next clean sees which are gone.

    Source: CleanPlanActionExecutor.prepareExtraMetadata and CleanPlanner, Hudi 0.15: not without
    partitions.
    """
    times = sorted(savepoints)
    return {SAVEPOINTS: ",".join(times)} if times and table.config.partition_fields else {}


def _delete_emptied(writer: Writer, plan: CleanPlan) -> list[str]:
    """Delete the folders of partitions in which nothing is left; gives those that are gone.

    A writer that puts a file there meanwhile would lose it, so nobody may be at work; a folder that
    cannot go now stays, without a row in it.
    """
    partitions = [partition for partition in plan.emptied if partition]
    if not partitions:
        return []
    storage, gone = writer.storage, []
    try:
        with nobody_writing(writer):
            for partition in partitions:
                if _is_emptied(storage, partition):
                    storage.delete_dir(partition)
                    gone.append(partition)
    except ConflictError as error:
        _log.info("%s: emptied partitions stay for now: %s", storage.uri, error)
    return gone


def _is_emptied(storage: Storage, partition: str) -> bool:
    """Whether a folder has nothing but what marks it as a partition, and checksums of Hadoop's.

    It is looked at twice: a listing that ends midway must not cost files that it leaves out.
    """
    found, again = storage.list(partition), storage.list(partition)
    return {each.name for each in found} == {each.name for each in again} and all(
        not each.is_dir
        and (each.name.startswith(PARTITION_METADATA_PREFIX) or each.name.endswith(".crc"))
        for each in found
    )
