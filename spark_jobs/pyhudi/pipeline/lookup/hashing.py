"""The BUCKET index: how a table's keys are hashed, and how many rows go to each bucket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from pyhudi.config.options.index import HASH_FIELDS, NUM_BUCKETS, IndexConfig
from pyhudi.config.table import TableConfig
from pyhudi.errors import TableMismatchError
from pyhudi.filegroup.names import hash_bucket_of
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.index.bucket import BucketHash, hash_that_fits
from pyhudi.pipeline.batch.pieces import KEY_SCHEMA, buffers, from_bytes, record_batch
from pyhudi.pipeline.batch.staging import StagedBatch
from pyhudi.runner.runner import TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.storage.storage import Storage
from pyhudi.write.plan.hash_buckets import HashCounts

# Each footer has two keys; as many as tell a wrong number of buckets with near certainty.
_FOOTERS = 16

_COUNT_SCHEMA = pa.schema(
    [pa.field("partition_path", pa.string()), pa.field("counts", pa.binary())]
)


def verify_bucket_hash(
    index: IndexConfig, table: TableConfig, storage: Storage, files: Sequence[BaseFile]
) -> BucketHash:
    """The hash that puts the keys of these files where they are.

    Raises:
        TableMismatchError: the table has another number of buckets or other hash columns.
    """
    fields = index.hash_fields or table.record_key_fields
    hashes = [
        BucketHash(num_buckets=index.num_buckets, fields=fields, is_old=is_old)
        for is_old in (False, True)
    ]
    fitting = hash_that_fits(hashes, list(_samples(storage, files)))
    if fitting is None:
        raise TableMismatchError(
            f"the keys of the table {table.name} are not where a hash of {', '.join(fields)} into "
            f"{index.num_buckets} buckets puts them; say {NUM_BUCKETS.key} and {HASH_FIELDS.key} "
            "as the table was begun with"
        )
    return hashes[fitting]


def count_by_hash(staged: StagedBatch, hashed: BucketHash) -> HashCounts:
    """How many rows of the batch go to each hash bucket of each partition."""
    keys = staged.rows.select("partition_path", "keys")
    found = keys.map(_count(hashed), _COUNT_SCHEMA).collect()
    counts: dict[str, np.ndarray] = {}
    for row in found:
        rows = np.frombuffer(row.counts, dtype=np.int64)
        counts[row.partition_path] = counts.get(row.partition_path, 0) + rows
    return counts


def _count(hashed: BucketHash) -> TaskFunction:
    def count(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums: dict[str, np.ndarray] = {}
        for batch in batches:
            paths = batch.column("partition_path").to_pylist()
            for path, data in zip(paths, buffers(batch.column("keys")), strict=True):
                buckets = hashed.buckets_of(from_bytes(data, KEY_SCHEMA).column(0))
                rows = np.bincount(buckets, minlength=hashed.num_buckets).astype(np.int64)
                sums[path] = sums.get(path, 0) + rows
        for path, rows in sums.items():
            columns = [pa.array([path]), pa.array([rows.tobytes()], pa.binary())]
            yield record_batch(columns, _COUNT_SCHEMA)

    return count


def _samples(storage: Storage, files: Sequence[BaseFile]) -> Iterator[tuple[str, int]]:
    step = max(1, len(files) // _FOOTERS)
    for file in islice(files, 0, None, step):
        bucket = hash_bucket_of(file.file_id)
        with open_base(storage, file) as base:
            footer = base.footer
        for key in (footer.min_key, footer.max_key):
            if key is not None and bucket is not None:
                yield key, bucket
