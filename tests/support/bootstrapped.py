"""Tables whose rows lie in files outside them, as a bootstrap with METADATA_ONLY leaves them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from pyhudi.actions.bootstrap_index import BootstrapIndex, BootstrappedPartition, SourceFile
from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.basefile.writer import BaseFileWriter
from pyhudi.config.table import TableConfig, TableType
from pyhudi.filegroup.names import base_file_name
from pyhudi.filegroup.slices import BaseFile
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from pyhudi.schema.metafields import META_FIELDS
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.table.bootstrap_index import bootstrap_index_files, read_bootstrap_index
from pyhudi.table.create import create_table
from pyhudi.table.properties_file import replace_properties
from pyhudi.timeline.instant import METADATA_BOOTSTRAP, Action, Instant, State
from pyhudi.write.files.partition import ensure_partition
from tests.support.clocks import FakeClock
from tests.support.in_process import CONFIG, NOW_MS
from tests.support.timelines import active_of

META = pa.schema([pa.field(name, pa.string()) for name in META_FIELDS])
BLOOM = BloomParameters(num_entries=50, max_entries=100)


@dataclass(frozen=True, kw_only=True)
class Source:
    """The rows of one file of a source, by the partition that they become."""

    partition: str
    rows: pa.Table
    name: str = "f.parquet"
    group_rows: int = 2
    skeleton_group_rows: int = 3


def bootstrap(
    storage: Storage,
    folder: Path,
    sources: Sequence[Source],
    config: TableConfig = CONFIG,
    **properties: str,
) -> None:
    """Write the sources below a folder, and a table of them with nothing but skeletons.

    The key of a row is its column ``id``. Names of ``properties`` have two underscores for a dot.
    """
    base = f"file:{folder}"
    made = create_table(storage, config)
    more = {name.replace("__", "."): value for name, value in properties.items()}
    named = TableConfig.from_properties({**made.raw, "hoodie.bootstrap.base.path": base})
    replace_properties(storage, {**made.raw, **named.bootstrap_properties, **more})
    partitions: dict[str, BootstrappedPartition] = {}
    stats: dict[str, tuple[WriteStat, ...]] = {}
    for source in sources:
        path = write_source(folder, source)
        stat = _write_skeleton(storage, source)
        known = partitions.get(source.partition)
        partitions[source.partition] = BootstrappedPartition(
            partition_path=source.partition,
            source_partition=source.partition,
            files={**(known.files if known else {}), str(stat.file_id): _status(path)},
        )
        stats[source.partition] = (*stats.get(source.partition, ()), stat)
    index = BootstrapIndex(source_base_path=base, created_ms=NOW_MS, partitions=partitions)
    for name, data in bootstrap_index_files(index).items():
        storage.put(name, data)
    _commit(storage, config, sources, stats)


def write_source(folder: Path, source: Source) -> Path:
    """Write a file of the source; gives where."""
    path = folder / source.partition / source.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".orc":
        with orc.ORCWriter(path, stripe_size=1, batch_size=source.group_rows) as writer:
            for start in range(0, source.rows.num_rows, source.group_rows):
                writer.write(source.rows.slice(start, source.group_rows))
    else:
        pq.write_table(source.rows, path, row_group_size=source.group_rows)
    return path


def moved_source(table: Path, source: Path) -> None:
    """Let the index of a table name another folder as its source, of the same files."""
    storage = open_storage(str(table))
    index = read_bootstrap_index(storage)
    assert index is not None
    old, new = index.source_base_path, f"file:{source}"

    def moved(file: SourceFile) -> SourceFile:
        return replace(file, path=file.path.replace(old, new, 1))

    partitions = {
        path: replace(each, files={name: moved(file) for name, file in each.files.items()})
        for path, each in index.partitions.items()
    }
    changed = replace(index, source_base_path=new, partitions=partitions)
    for name, data in bootstrap_index_files(changed).items():
        storage.put(name, data)


def _status(path: Path) -> SourceFile:
    found = path.stat()
    return SourceFile(
        path=f"file:{path}",
        size_bytes=found.st_size,
        modified_ms=found.st_mtime_ns // 10**6,
        accessed_ms=found.st_atime_ns // 10**6,
    )


def _write_skeleton(storage: Storage, source: Source) -> WriteStat:
    file_id = str(uuid5(NAMESPACE_URL, f"{source.partition}/{source.name}"))
    name = base_file_name(file_id, "0-1-0", METADATA_BOOTSTRAP)
    count = source.rows.num_rows
    columns = {
        "_hoodie_commit_time": [METADATA_BOOTSTRAP] * count,
        "_hoodie_commit_seqno": [f"{METADATA_BOOTSTRAP}_0_{row}" for row in range(count)],
        "_hoodie_record_key": source.rows.column("id").to_pylist(),
        "_hoodie_partition_path": [source.partition] * count,
        "_hoodie_file_name": [name] * count,
    }
    file = BaseFile.of(source.partition, name, 0)
    assert file is not None
    ensure_partition(storage, source.partition, METADATA_BOOTSTRAP)
    options = ParquetWriteOptions(row_group_rows=source.skeleton_group_rows)
    avro = arrow_to_avro(META, "HoodieRecordKey")
    writer = BaseFileWriter(storage.open_output(file.path), META, avro, options, BLOOM)
    with writer:
        writer.write(pa.table(columns, schema=META))
    return WriteStat(
        file_id=file_id,
        path=file.path,
        partition_path=source.partition,
        num_writes=count,
        num_inserts=count,
        total_write_bytes=writer.bytes_written,
        file_size_bytes=writer.bytes_written,
    )


def _commit(
    storage: Storage,
    config: TableConfig,
    sources: Sequence[Source],
    stats: dict[str, tuple[WriteStat, ...]],
) -> None:
    schema = pa.unify_schemas([source.rows.schema for source in sources])
    for name in config.partition_fields:
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.string()))
    metadata = CommitMetadata(
        partition_to_write_stats=stats,
        extra_metadata={"schema": dumps(arrow_to_avro(schema, "orders"))},
        operation_type="BOOTSTRAP",
    )
    is_logged = config.table_type is TableType.MERGE_ON_READ
    instant = Instant(
        time=METADATA_BOOTSTRAP,
        action=Action.DELTA_COMMIT if is_logged else Action.COMMIT,
        state=State.REQUESTED,
    )
    active = active_of(storage)
    active.request(instant, None)
    active.start(instant, None)
    active.complete(instant.in_state(State.INFLIGHT), metadata, FakeClock(NOW_MS))
