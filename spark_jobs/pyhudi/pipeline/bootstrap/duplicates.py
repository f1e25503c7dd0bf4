"""Record keys that occur twice in what a bootstrap has written, found before it is committed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.operations import DUPLICATE_POLICY
from pyhudi.errors import InvariantError, RecordKeyError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.keys.key_hash import key_hash
from pyhudi.pipeline.batch.pieces import one_row
from pyhudi.runner.runner import SHUFFLE_KEY, Runner
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.columns import one_array
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.storage.storage import Storage

_TASK_ROWS: Final = 2_000_000
_KEYS: Final = pa.schema(
    [
        pa.field(SHUFFLE_KEY, pa.int32()),
        pa.field("scope", pa.string()),
        pa.field("key", pa.string()),
        pa.field("file", pa.string()),
    ]
)
_TWICE: Final = pa.schema([pa.field("count", pa.int64()), pa.field("example", pa.string())])


def check_unique_keys(
    runner: Runner, storage: Storage, stats: Sequence[WriteStat], *, is_global: bool
) -> None:
    """Refuse keys that occur twice in a partition, or with ``is_global`` in the table.

    Not: what the rows of a key say; that two of them are alike makes them no less two.

    Raises:
        RecordKeyError: says how many there are, and names one with its files.
    """
    files = [_file_of(stat) for stat in stats if stat.num_writes]
    rows = sum(stat.num_writes for stat in stats)
    readers = max(1, min(len(files), runner.parallelism * 4))
    shuffle_keys = runner.shuffle_keys(-(-max(rows, 1) // _TASK_ROWS))

    def read(_: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        for file in files[number::readers]:
            with open_base(storage, file) as base:
                for table in base.tables([RECORD_KEY]):
                    keys = one_array(table.column(RECORD_KEY))
                    group = key_hash(keys) % np.uint64(len(shuffle_keys))
                    columns = [
                        pa.array(shuffle_keys[group.astype(np.int64)], pa.int32()),
                        pa.repeat("" if is_global else file.partition, len(keys)),
                        keys,
                        pa.repeat(file.path, len(keys)),
                    ]
                    yield pa.RecordBatch.from_arrays(columns, schema=_KEYS)

    def find(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _twice(pa.Table.from_batches(batches, schema=_KEYS))

    spread = runner.tasks(readers, read, _KEYS).exchange(len(shuffle_keys))
    found = sorted(spread.map(find, _TWICE).collect(), key=lambda row: row.example)
    if found:
        raise RecordKeyError(
            f"{sum(row.count for row in found):,} record keys occur more than once, such as "
            f"{found[0].example}; nothing was bootstrapped. Mend the source, or leave out "
            f"{DUPLICATE_POLICY.key}, with which all rows are taken over"
        )


def _twice(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    counted = rows.group_by(["scope", "key"]).aggregate(
        [("file", "count"), ("file", "min"), ("file", "max")]
    )
    found = counted.filter(pc.greater(counted["file_count"], 1))
    if found.num_rows:
        first = found.sort_by("key").slice(0, 1).to_pylist()[0]
        example = f"{first['key']!r} in {first['file_min']} and {first['file_max']}"
        yield one_row([found.num_rows, example], _TWICE)


def _file_of(stat: WriteStat) -> BaseFile:
    name = (stat.path or "").rpartition("/")[2]
    found = BaseFile.of(stat.partition_path or "", name, stat.file_size_bytes)
    if found is None:
        raise InvariantError(f"{stat.path} was written and is no base file")
    return found
