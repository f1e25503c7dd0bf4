"""Writes, services and reads as production runs them, in this process, on tables in memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.archived import ArchivedFile
from pyhudi.config.read import ReadConfig
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import WriteConfig
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.clean import CleanService, clean_service
from pyhudi.pipeline.compaction import CompactionService, compaction_service
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.pipeline.write import write_rows
from pyhudi.read.query import plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.services.compaction.kinds import compaction_kind
from pyhudi.storage.storage import Storage
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.create import create_table
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import Clock
from pyhudi.transaction.exclusion import Writer
from tests.support.clocks import FakeClock
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, bury
from tests.support.local_rows import LocalRows
from tests.support.memory import MemoryStorage
from tests.support.orders import OPERATION, OPTIONS, WAIT
from tests.support.orders import orders as table_of
from tests.support.timelines import active_of, writer_for

# Ordering value and value by partition and key.
Rows: TypeAlias = dict[tuple[str, str], tuple[int | None, str]]
Options: TypeAlias = Mapping[str, str]

NOW_MS = 1_767_225_600_000
SMALL_BLOOMS = {
    "hoodie.index.bloom.num_entries": "50",
    "hoodie.bloom.index.filter.dynamic.max.entries": "100",
}
NO_WAIT = {WAIT: "0"}
KINDS = (COMPACTION_KIND, LOG_COMPACTION_KIND)
FAILED = "/memory/failed"
"""The path of the failed records of writes whose options save them."""

ARCHIVING = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
    "hoodie.compact.inline.max.delta.commits": "1",
}
"""Options that keep few commits on the timeline."""

SAVING = {"pyhudi__write__error__policy": "report", "pyhudi__write__error__path": FAILED}
CONFIG = TableConfig(
    name="orders",
    table_type=TableType.COPY_ON_WRITE,
    version=TableVersion.SIX,
    record_key_fields=("id",),
    partition_fields=("part",),
    ordering_fields=("ts",),
    key_generator_class="org.apache.hudi.keygen.SimpleKeyGenerator",
)


def options_of(table_type: str = "COPY_ON_WRITE", index: str = "SIMPLE", **more: str) -> Options:
    """Options of a table of orders, with small bloom filters; dots of names as two underscores."""
    return {
        **OPTIONS,
        "hoodie.datasource.write.table.type": table_type,
        "hoodie.index.type": index,
        **SMALL_BLOOMS,
        "hoodie.bucket.index.num.buckets": "2",
        **{name.replace("__", "."): value for name, value in more.items()},
    }


REWRITTEN, APPENDED = options_of(), options_of("MERGE_ON_READ")
MERGE_ON_READ = replace(CONFIG, table_type=TableType.MERGE_ON_READ)


def clock_at(now_ms: int = NOW_MS) -> FakeClock:
    """A clock that goes on a millisecond each time it is asked."""
    return FakeClock(now_ms, step_ms=1)


def orders(rows: Rows) -> pa.Table:
    """Rows as a source has them."""
    return table_of(*((key, part, *row) for (part, key), row in rows.items()))


@dataclass
class Surroundings:
    """What a write or a compaction has around it: its clock, its runner, the failed records."""

    clock: Clock = field(default_factory=clock_at)
    runner: InProcessRunner = field(default_factory=InProcessRunner)
    failed: Storage | None = None

    def environment(self, storage: Storage) -> Environment:
        def opened(path: str) -> Storage:
            if path != FAILED:
                return storage
            assert self.failed is not None
            return self.failed

        return Environment(runner=self.runner, clock=self.clock, open_storage=opened)


def write(
    storage: Storage,
    rows: Rows | pa.Table | None,
    clock: Clock,
    operation: str = "upsert",
    options: Options | None = None,
    *,
    runner: InProcessRunner | None = None,
    failed: Storage | None = None,
) -> JobResult:
    """Write rows, the source being one task; options are by default those of the table's type."""
    around = Surroundings(clock, runner or InProcessRunner(), failed)
    table = orders(rows) if isinstance(rows, dict) else rows
    source = None if table is None else LocalRows.of(around.runner, table)
    chosen = {**(options or _options_on(storage)), OPERATION: operation}
    return write_rows(around.environment(storage), source, storage.uri, chosen)


def _options_on(storage: Storage) -> Options:
    is_made = storage.exists(".hoodie/hoodie.properties")
    return options_of(load_table(storage).config.table_type.value) if is_made else REWRITTEN


def dead_write(storage: MemoryStorage, rows: Rows, clock: Clock, operation: str = "upsert") -> str:
    """A write whose process ended with all done but its commit; its instant."""

    class Dying(FaultyStorage):
        def create(self, path: str, data: bytes) -> None:
            if path.endswith((".commit", ".deltacommit", ".replacecommit")):
                self.faults.kind, self.faults.at = Fault.DEATH, self.faults.calls + 1
            super().create(path, data)

    assert isinstance(
        outcome(lambda: write(Dying(storage, Faults()), rows, clock, operation)), Killed
    )
    bury(storage)
    return active_of(storage).load().pending_writes().instants[-1].time


def write_nothing(
    storage: Storage,
    clock: Clock,
    options: Options | None = None,
    *,
    failed: Storage | None = None,
) -> None:
    """A write that begins as every write does, undoing dead ones, and finds nothing to do."""
    none = {"hoodie.datasource.write.partitions.to.delete": "no/such/partition"}
    chosen = {**(options or _options_on(storage)), **none}
    found = write(storage, None, clock, "delete_partition", chosen, failed=failed)
    assert found.status == "nothing_to_do"


def compaction(
    storage: Storage,
    clock: Clock,
    kind: str = COMPACTION_KIND,
    runner: InProcessRunner | None = None,
    **options: str,
) -> CompactionService:
    """Compactions of one kind, which are due whenever there is something to compact."""
    due = {
        "hoodie.compact.inline.max.delta.commits": "1",
        "hoodie.log.compaction.blocks.threshold": "2",
        WAIT: "0",
        **SMALL_BLOOMS,
        "hoodie.parquet.max.file.size": str(1 << 20),
        **{name.replace("__", "."): value for name, value in options.items()},
    }
    environment = Surroundings(clock, runner or InProcessRunner()).environment(storage)
    config = WriteConfig.from_options(due)
    return compaction_service(environment, compaction_kind(kind), storage, config, {})


def cleaning(
    storage: Storage, clock: Clock, *, failed: Storage | None = None, **options: str
) -> CleanService:
    """Cleans that keep the files of one commit, unless options say otherwise."""
    chosen = {
        "hoodie.clean.commits.retained": "1",
        WAIT: "0",
        **{name.replace("__", "."): value for name, value in options.items()},
    }
    environment = Surroundings(clock, failed=failed).environment(storage)
    return clean_service(environment, storage, WriteConfig.from_options(chosen))


def run_pending(storage: Storage, clock: Clock, *kinds: str) -> None:
    """Run everything that is planned, of both kinds unless some are named."""
    for kind in kinds or KINDS:
        service = compaction(storage, clock, kind)
        while pending := service.oldest_pending():
            service.execute(pending)


def roll_back(storage: Storage, clock: Clock, instant: str | None, **options: str) -> JobResult:
    """Roll a write back."""
    assert instant
    request = RollbackRequest(
        base_path=storage.uri, instant=instant, hoodie_conf=options or NO_WAIT
    )
    return rollback_table(Surroundings(clock).environment(storage), request)


def savepoint(
    storage: Storage, clock: Clock, *, options: Options = NO_WAIT, **asked: str
) -> JobResult:
    """Create a savepoint, or what else is asked for."""
    request = SavepointRequest(base_path=storage.uri, hoodie_conf=options, **asked)
    return savepoint_table(Surroundings(clock).environment(storage), request)


def restore(
    storage: Storage, clock: Clock, instant: str | None, options: Options = NO_WAIT
) -> JobResult:
    """Take a table back to a savepoint."""
    assert instant
    request = RestoreRequest(base_path=storage.uri, instant=instant, hoodie_conf=options)
    return restore_table(Surroundings(clock).environment(storage), request)


def new_table(config: TableConfig = CONFIG) -> MemoryStorage:
    """An empty table in memory."""
    storage = MemoryStorage(now_ms=NOW_MS)
    create_table(storage, config)
    return storage


def writer_on(storage: Storage, clock: Clock) -> Writer:
    """A writer of the table, whose time passes as the clock says."""
    is_made = storage.exists(".hoodie/hoodie.properties")
    return writer_for(storage, load_table(storage).config if is_made else CONFIG, clock)


def read_tables(
    storage: Storage, filters: pc.Expression | None = None, **query: Any
) -> list[pa.Table]:
    """The rows of a table as readers find them."""
    table = load_table(storage)
    plan = plan_read(table, ReadConfig.of(**query), filters=filters)
    found = [part for file in plan.files for part in read_file(storage, plan, file)]
    found += [part for each in plan.slices for part in read_slice(storage, plan, each)]
    return [plan.result_schema.empty_table(), *found]


def read_rows(storage: Storage, **query: Any) -> Rows:
    """The rows of a table of orders; one that is there twice is an error, and no table is empty."""
    if not storage.exists(".hoodie/hoodie.properties"):
        return {}
    found: Rows = {}
    for part in filter(len, read_tables(storage, **query)):
        columns = ("_hoodie_partition_path", "_hoodie_record_key", "ts", "value")
        for path, key, ts, value in zip(*(part[name].to_pylist() for name in columns), strict=True):
            assert (path, key) not in found, f"{path}/{key} is there twice"
            found[path, key] = ts, value
    return found


def leftovers(storage: MemoryStorage, failed: MemoryStorage | None = None) -> list[str]:
    """What no completed instant accounts for.

    Data files, markers, heartbeats, pending instants, and saved records of writes that failed.
    """
    timeline = active_of(storage).load()
    committed = {
        stat.path or ""
        for record in archived_in(storage)
        if record.commit
        for stat in record.commit.commit.write_stats
    }
    for instant in timeline.write_instants().completed():
        found = active_of(storage).read_commit(instant)
        committed |= {stat.path or "" for stat in found.write_stats}
    saved = failed.files if failed else {}
    return [
        *sorted(data_files(storage) - committed),
        *storage.below(".hoodie/.temp"),
        *storage.below(".hoodie/.heartbeat"),
        *(f"pending {each.action.value} {each.time}" for each in timeline.pending()),
        *(f"saved {name}" for name in saved if not timeline.is_committed(name.partition("_")[0])),
    ]


def archived_in(storage: Storage) -> list[ArchivedFile]:
    """The records of a table's archive."""
    if not storage.exists(".hoodie/hoodie.properties"):
        return []
    archive = ArchivedTimeline.of(storage, load_table(storage).config)
    return [record for file in archive.files() for record in archive.read(file)]


def archive(storage: Storage, clock: Clock, **options: str) -> JobResult:
    """Archive all but two commits; dots of names as two underscores."""
    given = {name.replace("__", "."): value for name, value in options.items()}
    request = ArchiveRequest(base_path=storage.uri, hoodie_conf={**ARCHIVING, **given})
    return archive_table(Surroundings(clock).environment(storage), request)


def data_files(storage: MemoryStorage) -> set[str]:
    """The base files and log files of a table."""
    return {
        path
        for path in storage.files
        if (path.endswith((".parquet", ".orc")) or ".log." in path)
        and not path.startswith(".hoodie")
    }


def outcome(call: Callable[[], object]) -> BaseException | None:
    """What a call raised."""
    try:
        call()
    except BaseException as raised:  # noqa: BLE001 - tests tell death from failure
        return raised
    return None
