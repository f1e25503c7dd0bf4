"""What a task that writes files gets: its identity, the write, and rows of one partition."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from pyhudi.basefile.bloom import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.config.options.merging import MergeMode
from pyhudi.merge.rule import MergeRule
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.metafields import RECORD_KEY, with_meta, with_meta_avro
from pyhudi.storage.storage import Storage
from pyhudi.write.context import WriteContext

EVENT_TIME = MergeRule(mode=MergeMode.EVENT_TIME, ordering_fields=("ts",))
COMMIT_TIME = MergeRule(mode=MergeMode.COMMIT_TIME)
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
