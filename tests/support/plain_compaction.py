"""A whole compaction without Spark, on tables of Hudi in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.config.read import ReadConfig
from pyhudi.config.write import HeartbeatConfig, WriteConfig
from pyhudi.filegroup.names import LogFileName
from pyhudi.filegroup.slices import FileSlice
from pyhudi.jobs import COMPACTION_KIND
from pyhudi.read.query import plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import FILE_NAME, RECORD_KEY
from pyhudi.services.compaction import CompactionWork, schedule
from pyhudi.services.compaction_job import (
    compaction_job,
    compaction_merge,
    compaction_metadata,
)
from pyhudi.services.compaction_kinds import compaction_kind
from pyhudi.services.recovery import writer_of
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import Clock, SystemClock
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.transaction.exclusion import Writer
from tests.support.golden import golden_table, row_texts, without
from tests.support.log_files import delete_block
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

# A moment after all that the golden tables have seen.
NOW_MS = 1_800_000_000_000
ALWAYS = CompactionConfig(max_delta_commits=1)
OPTIONS = WriteConfig.from_options(
    {"hoodie.index.bloom.num_entries": "50", "hoodie.bloom.index.filter.dynamic.max.entries": "100"}
)


def golden_in_memory(name: str) -> MemoryStorage:
    """A golden table, to be changed."""
    root = golden_table(name)
    files = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }
    return MemoryStorage(files, NOW_MS)


def writer_on(storage: Storage, clock: Clock) -> Writer:
    """A writer of the table."""
    return writer_of(load_table(storage), clock, HeartbeatConfig())


def plan(storage: Storage, clock: Clock, config: CompactionConfig = ALWAYS) -> str | None:
    """Plan a compaction."""
    return schedule(writer_on(storage, clock), config, full_file_bytes=1 << 20)


def execute(
    storage: Storage, clock: Clock, instant: str, kind: str = COMPACTION_KIND
) -> list[WriteStat]:
    """Run a compaction or a log compaction, a task for each slice."""
    found = compaction_kind(kind)
    with found.run(writer_on(storage, clock), instant) as work:
        stats = write_slices(work, instant, kind)
        metadata = compaction_metadata(work.table, stats, {}, found.commit_name)
        work.run.complete(metadata, frozenset(stat.path or "" for stat in stats))
    return stats


def write_slices(
    work: CompactionWork, instant: str, kind: str = COMPACTION_KIND
) -> list[WriteStat]:
    """What the tasks of a run do."""
    write_slice = compaction_kind(kind).write_slice
    merge = compaction_merge(work.table, instant, OPTIONS)
    job = compaction_job(work.table, instant, OPTIONS, merge)
    stats = []
    for number, found in enumerate(work.slices):
        task = TaskIdentity(partition_id=number, stage_id=work.number, attempt_id=0)
        stats += write_slice(job, task, found, merge)
    return [replace(stat, total_scan_time=0, total_upsert_time=0) for stat in stats]


def read_texts(storage: Storage, **query: str) -> list[str]:
    """The rows of a table as sorted texts."""
    table = load_table(storage)
    plan = plan_read(table, ReadConfig.of(**query))
    parts = [part for each in plan.slices for part in read_slice(storage, plan, each)]
    parts += [part for file in plan.files for part in read_file(storage, plan, file)]
    return row_texts(pa.concat_tables([plan.result_schema.empty_table(), *parts]))


def run_pending(storage: Storage, clock: Clock) -> None:
    """Run all compactions that are planned."""
    for instant in load_table(storage).timeline.pending():
        if instant.action is Action.COMPACTION:
            execute(storage, clock, instant.time)


def values(texts: list[str]) -> list[str]:
    """Rows without the name of the file they lie in."""
    return without(texts, "_hoodie_file_name")


def delete_key(storage: Storage, key: str, instant: str) -> None:
    """What a writer does that deletes a key: a log file of the slice that is written to now."""
    table = load_table(storage)
    found = next(each for each in table.latest_slices() if key in _keys(storage, each))
    pending = table.pending_compactions()
    base = pending.get((found.partition, found.file_id), found.base_instant)
    versions = [log.name.version for log in found.log_files if log.name.base_instant == base]
    name = LogFileName(
        file_id=found.file_id,
        base_instant=base,
        version=max(versions, default=0) + 1,
        write_token="9-9-9",
    )
    path = f"{found.partition}/{name}" if found.partition else str(name)
    storage.put(path, delete_block(instant, key))


def delta_commit(storage: Storage, instant: str) -> None:
    """Complete a write to log files."""
    active, done = (
        active_of(storage),
        Instant(time=instant, action=Action.DELTA_COMMIT, state=State.REQUESTED),
    )
    active.request(done, None)
    active.start(done, None)
    active.complete(done, None, SystemClock())


def _keys(storage: Storage, found: FileSlice) -> set[str]:
    table = load_table(storage)
    plan = plan_read(table, ReadConfig.of(), columns=[RECORD_KEY, FILE_NAME])
    parts = read_slice(storage, plan, found) if found.log_files else ()
    if found.base_file is not None and not found.log_files:
        parts = read_file(storage, plan, found.base_file)
    return {key for part in parts for key in part.column(RECORD_KEY).to_pylist()}


def leftovers(storage: MemoryStorage) -> list[str]:
    """What no completed instant accounts for: base files, markers, heartbeats, pending instants."""
    timeline = load_table(storage).timeline
    pending = {instant.time for instant in timeline.pending()}
    return [
        *(path for path in storage.files if any(f"_{time}.parquet" in path for time in pending)),
        *storage.below(".hoodie/.temp"),
        *storage.below(".hoodie/.heartbeat"),
        *(f"pending {instant.action.value} {instant.time}" for instant in timeline.pending()),
    ]


def files_at(storage: MemoryStorage, instant: str) -> Mapping[str, bytes]:
    """The base files of an instant."""
    return {
        path: data
        for path, data in storage.files.items()
        if path.endswith(f"_{instant}.parquet") and not path.startswith(".hoodie")
    }
