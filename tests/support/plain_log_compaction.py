"""A whole log compaction without Spark, on tables of Hudi in memory."""

from __future__ import annotations

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.compaction import CompactionConfig
from pyhudi.jobs import LOG_COMPACTION_KIND
from pyhudi.services.log_compaction import schedule_log_compaction
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock
from tests.support.memory import MemoryStorage
from tests.support.plain_compaction import execute, golden_in_memory, writer_on

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
    return execute(storage, clock, instant, LOG_COMPACTION_KIND)
