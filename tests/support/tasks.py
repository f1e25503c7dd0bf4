"""What a task that writes files gets: its identity, the write, and rows of one partition."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.actions.commit import WriteStat
from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.config.options.merging import MergeMode
from pyhudi.config.versions import TableVersion
from pyhudi.filegroup.slices import BaseFile
from pyhudi.merge.rule import MergeRule
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.metafields import RECORD_KEY, with_meta, with_meta_avro
from pyhudi.storage.storage import Storage
from pyhudi.write.context import WriteContext
from pyhudi.write.files.create import create_files
from tests.support.memory import MemoryStorage

EVENT_TIME = MergeRule(mode=MergeMode.EVENT_TIME, ordering_fields=("ts",))
COMMIT_TIME = MergeRule(mode=MergeMode.COMMIT_TIME)
PARTIAL = MergeRule(mode=MergeMode.PARTIAL_UPDATE, ordering_fields=("ts",))
DATA = pa.schema({"id": pa.string(), "ts": pa.int64(), "value": pa.string()})


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
        "version": TableVersion.SIX,
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


def create_file(job: WriteContext, rows: pa.Table) -> WriteStat:
    """One new file, of the file group that tests call f-0, in the partition p."""
    (stat,) = create_files(job, task(), partition="p", file_id="f-0", rows=rows)
    return stat


def file_of(stat: WriteStat) -> BaseFile:
    """The base file that a task has written."""
    found = BaseFile.of("p", (stat.path or "").removeprefix("p/"), stat.file_size_bytes)
    assert found is not None
    return found


def stored(storage: MemoryStorage, path: str | None) -> pa.Table:
    """What is in a Parquet file."""
    return pq.read_table(pa.BufferReader(storage.files[path or ""]))
