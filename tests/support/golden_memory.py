"""Tables of Hudi in memory, to be compacted and written to."""

from collections.abc import Mapping

import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.config.read import ReadConfig
from pyhudi.config.write import WriteConfig
from pyhudi.filegroup.names import LogFileName
from pyhudi.filegroup.slices import FileSlice
from pyhudi.jobs.compaction import COMPACTION_KIND
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.compaction import _write
from pyhudi.read.query import plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.schema.metafields import FILE_NAME, RECORD_KEY
from pyhudi.services.compaction.job import compaction_job, compaction_merge
from pyhudi.services.compaction.kinds import compaction_kind
from pyhudi.services.compaction.run import CompactionWork
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import Clock, SystemClock
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.clocks import FakeClock
from tests.support.golden import golden_table, row_texts, without
from tests.support.in_process import SMALL_BLOOMS, compaction, read_tables
from tests.support.log_files import delete_block
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

# A moment after all that the golden tables have seen.
NOW_MS = 1_800_000_000_000
OPTIONS = WriteConfig.from_options(SMALL_BLOOMS)
_LOGS = ("bucket", "hfile_logs", "logs_avro", "logs_parquet", "partial_payload", "rollback")
LOGGED = tuple(f"v6_mor_{name}" for name in _LOGS)
LOGS_TABLE = "v6_mor_log_compacted"
LOGS_PLANNED = "20261121111037067"
_LOGS_LATER = "20261121111037767"


def clock_at(now_ms: int = NOW_MS) -> FakeClock:
    """A clock that goes on a millisecond each time it is asked."""
    return FakeClock(now_ms, step_ms=1)


def golden_in_memory(name: str) -> MemoryStorage:
    """A golden table, to be changed."""
    return MemoryStorage.of(golden_table(name), NOW_MS)


def before_log_compaction() -> MemoryStorage:
    """A table as it was once Hudi had planned its log compaction."""
    storage = golden_in_memory(LOGS_TABLE)
    for path in list(storage.files):
        is_planned = path.endswith(f"{LOGS_PLANNED}.logcompaction.requested")
        is_later = path.startswith((f".hoodie/{LOGS_PLANNED}", f".hoodie/{_LOGS_LATER}"))
        if (is_later and not is_planned) or ".log.5_" in path or ".log.6_" in path:
            storage.delete(path)
    return storage


def plan(storage: Storage, clock: Clock, kind: str = COMPACTION_KIND) -> str | None:
    """Plan a compaction."""
    return compaction(storage, clock, kind).schedule().instant


def execute(storage: Storage, clock: Clock, instant: str, kind: str = COMPACTION_KIND) -> JobResult:
    """Run a compaction."""
    return compaction(storage, clock, kind).execute(instant)


def compact(
    storage: Storage, clock: Clock, kind: str = COMPACTION_KIND, **options: str
) -> JobResult:
    """Plan a compaction, which there must be reason for, and run it."""
    service = compaction(storage, clock, kind, **options)
    found = service.schedule().instant
    assert found
    return service.execute(found)


def write_slices(
    work: CompactionWork, instant: str, kind: str = COMPACTION_KIND
) -> list[WriteStat]:
    """What the tasks of a run do."""
    merge = compaction_merge(work.table, instant, OPTIONS)
    job = compaction_job(work.table, instant, OPTIONS, merge)
    return _write(InProcessRunner(), work, job, merge, compaction_kind(kind).write_slice)


def read_texts(storage: Storage, **query: str) -> list[str]:
    """The rows of a table as sorted texts."""
    return row_texts(pa.concat_tables(read_tables(storage, **query)))


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
    active = active_of(storage)
    done = Instant(time=instant, action=Action.DELTA_COMMIT, state=State.REQUESTED)
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
    """Base files of pending instants, markers, heartbeats, pending instants.

    What Hudi wrote before is its own affair.
    """
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
