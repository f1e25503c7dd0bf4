"""A whole log compaction without Spark, on tables of Hudi in memory."""

from __future__ import annotations

from dataclasses import replace

from pyhudi.actions.commit import WriteStat
from pyhudi.config.compaction import CompactionConfig
from pyhudi.services.compaction import CompactionWork
from pyhudi.services.compaction_job import (
    compaction_job,
    compaction_merge,
    compaction_metadata,
)
from pyhudi.services.log_compaction import LogCompactionRun, schedule_log_compaction
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock
from pyhudi.write.job import TaskIdentity
from pyhudi.write.log_compact import log_compact_slice
from tests.support.memory import MemoryStorage
from tests.support.plain_compaction import OPTIONS, golden_in_memory, writer_on

TABLE = "v6_mor_log_compacted"
PLANNED = "20261121111037067"
LATER = "20261121111037767"
FEW = CompactionConfig(log_blocks=2)


def before_log_compaction() -> MemoryStorage:
    """The table as it was once Hudi had planned its log compaction."""
    storage = golden_in_memory(TABLE)
    for path in list(storage.files):
        is_planned = path.endswith(f"{PLANNED}.logcompaction.requested")
        is_later = path.startswith((f".hoodie/{PLANNED}", f".hoodie/{LATER}"))
        if (is_later and not is_planned) or ".log.5_" in path or ".log.6_" in path:
            storage.delete(path)
    return storage


def plan_logs(storage: Storage, clock: Clock, config: CompactionConfig = FEW) -> str | None:
    """Plan a log compaction."""
    return schedule_log_compaction(writer_on(storage, clock), config, full_file_bytes=1 << 20)


def execute_logs(storage: Storage, clock: Clock, instant: str) -> list[WriteStat]:
    """Run a log compaction, a task for each slice."""
    run = LogCompactionRun(writer_on(storage, clock), instant)
    with run as work:
        stats = write_blocks(work, instant)
        body = compaction_metadata(work.table, stats, {}, "LOG_COMPACT").to_bytes()
        run.complete(body, frozenset(stat.path or "" for stat in stats))
    return stats


def write_blocks(work: CompactionWork, instant: str, *, attempt: int = 0) -> list[WriteStat]:
    """What the tasks of a run do."""
    merge = compaction_merge(work.table, instant, OPTIONS)
    job = compaction_job(work.table, instant, OPTIONS, merge)
    stats = []
    for number, found in enumerate(work.slices):
        task = TaskIdentity(partition_id=number, stage_id=work.run, attempt_id=attempt)
        stats += log_compact_slice(job, task, found, merge)
    return [replace(stat, total_scan_time=0, total_upsert_time=0) for stat in stats]
