"""A whole write without Spark: what the tasks do, one after another in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.basefile.bloom import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.config.options.merging import MergeMode
from pyhudi.config.read import ReadConfig
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.versions import TableVersion
from pyhudi.merge.rule import MergeRule
from pyhudi.read.query import plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from pyhudi.schema.metafields import RECORD_KEY, with_meta, with_meta_avro
from pyhudi.services.recovery import recover
from pyhudi.storage.storage import Storage
from pyhudi.table.create import create_table
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.instant import Action
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.write.context import WriteContext
from pyhudi.write.files.append import append_rows
from pyhudi.write.files.create import create_files
from pyhudi.write.files.merge import merge_file
from tests.support.clocks import FakeClock
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of, writer_for

EVENT_TIME = MergeRule(mode=MergeMode.EVENT_TIME, ordering_fields=("ts",))
COMMIT_TIME = MergeRule(mode=MergeMode.COMMIT_TIME)
DATA = pa.schema({"id": pa.string(), "ts": pa.int64(), "value": pa.string()})
CONFIG = TableConfig(
    name="plain",
    table_type=TableType.COPY_ON_WRITE,
    version=TableVersion.SIX,
    record_key_fields=("id",),
    partition_fields=("part",),
    ordering_fields=("ts",),
    key_generator_class="org.apache.hudi.keygen.SimpleKeyGenerator",
)
NOW_MS = 1_767_225_600_000
# Value and ordering value by partition and key.
Rows = dict[tuple[str, str], tuple[int, str]]


MERGE_ON_READ = replace(CONFIG, table_type=TableType.MERGE_ON_READ)


def new_table(config: TableConfig = CONFIG) -> MemoryStorage:
    """An empty table in memory."""
    storage = MemoryStorage(now_ms=NOW_MS)
    create_table(storage, config)
    return storage


def clock_at(now_ms: int = NOW_MS) -> FakeClock:
    """A clock that goes on a millisecond each time it is asked."""
    return FakeClock(now_ms, step_ms=1)


def writer_on(storage: Storage, clock: Clock, **heartbeat: int) -> Writer:
    """A writer whose time passes as the clock says."""
    return writer_for(storage, CONFIG, clock, **heartbeat)


def incoming(rows: Mapping[str, tuple[int, str]], schema: pa.Schema = DATA) -> pa.Table:
    """Rows of one partition as a task gets them: the record key first."""
    columns = [
        pa.array(list(rows), pa.string()),
        pa.array(list(rows), pa.string()),
        pa.array([ts for ts, _ in rows.values()], pa.int64()),
        pa.array([value for _, value in rows.values()], pa.string()),
    ]
    return pa.Table.from_arrays(columns, names=[RECORD_KEY, *schema.names])


def job_on(storage: Storage, instant: str, **more: Any) -> WriteContext:
    """The write as tasks see it, with small bloom filters."""
    settings: dict[str, Any] = {
        "schema": with_meta(DATA),
        "avro_schema": with_meta_avro(arrow_to_avro(DATA, "plain")),
        "encoding": ParquetWriteOptions(codec="none"),
        "bloom": BloomParameters(num_entries=50, max_entries=100),
        "max_file_size_bytes": 1 << 20,
        "rule": EVENT_TIME,
        "combine_batch": True,
        **more,
    }
    return WriteContext(storage=storage, instant=instant, **settings)


def task(number: int = 0, attempt: int = 0) -> TaskIdentity:
    return TaskIdentity(partition_id=number, stage_id=1, attempt_id=attempt)


def upsert(storage: Storage, rows: Rows, clock: Clock, **more: Any) -> str:
    """Recover, then commit the rows; a file group a partition. Answers the instant.

    In a merge-on-read table rows are appended to file groups that are there.
    """
    writer = writer_on(storage, clock)
    recover(writer)
    is_delta = load_table(storage).config.table_type is TableType.MERGE_ON_READ
    with InstantRun(writer, Action.DELTA_COMMIT if is_delta else Action.COMMIT) as run:
        run.start(None)
        stats = write_rows(storage, rows, run.instant, **more)
        finish(run, stats)
    return run.instant


def write_rows(
    storage: Storage, rows: Rows, instant: str, *, attempt: int = 0, **more: Any
) -> list[WriteStat]:
    """Write the files of all partitions, a task each."""
    table, job = load_table(storage), job_on(storage, instant, **more)
    stats: list[WriteStat] = []
    for number, partition in enumerate(sorted({part for part, _ in rows})):
        batch = incoming({key: row for (part, key), row in rows.items() if part == partition})
        who = task(number, attempt)
        bases = table.latest_base_files([partition])
        if table.config.table_type is TableType.MERGE_ON_READ and bases:
            places = table.files([partition]).append_targets(table.pending_compactions())
            place = places[partition, bases[0].file_id]
            stats.extend(append_rows(job, who, place, batch))
        elif bases:
            stats.append(merge_file(job, who, bases[0], batch))
        else:
            name = f"{partition}-{instant}-0"
            stats.extend(create_files(job, who, partition=partition, file_id=name, rows=batch))
    return stats


def finish(run: InstantRun, stats: list[WriteStat]) -> None:
    """Commit the files."""
    by_partition = {
        path: tuple(stat for stat in stats if stat.partition_path == path)
        for path in {stat.partition_path or "" for stat in stats}
    }
    metadata = CommitMetadata(
        partition_to_write_stats=by_partition,
        extra_metadata={"schema": dumps(arrow_to_avro(DATA, "plain"))},
        operation_type="UPSERT",
    )
    run.complete(metadata, frozenset(stat.path or "" for stat in stats))


def read_rows(storage: Storage) -> Rows:
    """The rows of the table; a row that is there twice is an error."""
    table = load_table(storage)
    plan = plan_read(table, ReadConfig.of(query_type="snapshot"))
    found: Rows = {}
    parts = [part for file in plan.files for part in read_file(storage, plan, file)]
    parts += [part for each in plan.slices for part in read_slice(storage, plan, each)]
    for part in parts:
        for row in part.to_pylist():
            identity = row["_hoodie_partition_path"], row["_hoodie_record_key"]
            assert identity not in found, f"{identity} is there twice"
            found[identity] = row["ts"], row["value"]
    return found


def leftovers(storage: MemoryStorage) -> list[str]:
    """What no completed write accounts for: data files, markers, heartbeats, pending instants."""
    timeline = active_of(storage).load()
    committed: set[str] = set()
    for instant in timeline.write_instants().completed():
        found = active_of(storage).read_commit(instant)
        committed |= {stat.path or "" for stat in found.write_stats}
    data_files = {path for path in storage.files if path.endswith(".parquet") or ".log." in path}
    return [
        *sorted(data_files - committed),
        *storage.below(".hoodie/.temp"),
        *storage.below(".hoodie/.heartbeat"),
        *(f"pending {instant.action.value} {instant.time}" for instant in timeline.pending()),
    ]


def outcome(call: Callable[[], object]) -> BaseException | None:
    """What a call raised."""
    try:
        call()
    except BaseException as raised:  # noqa: BLE001 - tests tell death from failure
        return raised
    return None
