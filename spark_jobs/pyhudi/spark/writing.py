"""From buckets to tasks to write statistics.

Every row of a staged batch is sent to the task of its bucket; each task writes one file group.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from pyhudi.actions.commit import WriteStat
from pyhudi.errors import InvariantError
from pyhudi.keys.key_hash import key_hash
from pyhudi.keys.murmur import partition_salts
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.spark.arrow_map import BatchFunction, few_rows_a_batch, map_in_arrow
from pyhudi.spark.pieces import buffers, from_bytes, record_batch, this_task, to_bytes
from pyhudi.spark.staging import StagedBatch, split_by
from pyhudi.spark.tagging import TaggedBatch, positions_of
from pyhudi.write.buckets import Bucket, BucketPlan
from pyhudi.write.create import create_files
from pyhudi.write.job import WriteJob
from pyhudi.write.merge import merge_file

ROUTED_SCHEMA = pa.schema(
    [
        pa.field("salt", pa.int32()),
        pa.field("bucket", pa.int32()),
        pa.field("piece_id", pa.int64()),
        pa.field("rows", pa.binary()),
    ]
)
STAT_SCHEMA = pa.schema([pa.field("stat", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """How a piece's rows find their buckets; ``drops_new`` leaves out rows of new keys."""

    plan: BucketPlan
    bucket_of_file: Mapping[int, int]
    salts: np.ndarray
    schema: pa.Schema
    drops_new: bool


def write_buckets(
    staged: StagedBatch, tagged: TaggedBatch, plan: BucketPlan, *, job: WriteJob, schema: pa.Schema
) -> list[WriteStat]:
    """Write every bucket, a task each, and give the statistics of the files that count.

    Shapes: ``schema`` is that of the staged rows.
    Guarantees: of the attempts of a task only the one that Spark took is in the result.
    """
    count = len(plan.buckets)
    routing = Routing(
        plan=plan,
        bucket_of_file={
            number: plan.by_file[file.partition, file.file_id]
            for number, file in enumerate(tagged.files)
            if (file.partition, file.file_id) in plan.by_file and number in tagged.updates
        },
        salts=partition_salts(count),
        schema=schema,
        drops_new=job.is_deleting,
    )
    routed = map_in_arrow(_with_hits(staged, tagged), _route(routing), ROUTED_SCHEMA)
    delivered = routed.repartition(count, "salt")
    written = map_in_arrow(delivered, _write(plan.buckets, job, schema), STAT_SCHEMA)
    with few_rows_a_batch(written.sparkSession):
        return stats_of(written)


def stats_of(written: DataFrame) -> list[WriteStat]:
    """Run the write and collect its statistics."""
    return [WriteStat.from_json(json.loads(row.stat)) for row in written.collect()]


def stat_batch(stats: Sequence[WriteStat]) -> pa.RecordBatch:
    """Statistics as they leave a task."""
    texts = [json.dumps(stat.to_json()) for stat in stats]
    return record_batch([pa.array(texts, pa.string())], STAT_SCHEMA)


def _with_hits(staged: StagedBatch, tagged: TaggedBatch) -> DataFrame:
    pieces = staged.frame.select("partition_path", "piece_id", "rows")
    if tagged.hits is None:
        nothing = F.lit(None)
        return pieces.withColumn("files", nothing.cast("array<int>")).withColumn(
            "positions", nothing.cast("array<binary>")
        )
    by_piece = tagged.hits.groupBy("hit_piece").agg(
        F.sort_array(F.collect_list(F.struct("file", "positions"))).alias("hits")
    )
    hits = by_piece.select(
        "hit_piece",
        F.col("hits.file").alias("files"),
        F.col("hits.positions").alias("positions"),
    )
    joined = pieces.join(hits, pieces.piece_id == hits.hit_piece, "left")
    return joined.drop("hit_piece")


def _route(routing: Routing) -> BatchFunction:
    def route(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in range(batch.num_rows):
                yield from _route_piece(routing, batch.slice(number, 1))

    return route


def _route_piece(routing: Routing, piece: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = from_bytes(buffers(piece.column("rows"))[0], routing.schema)
    piece_id = piece.column("piece_id")[0].as_py()
    files = piece.column("files")[0].as_py() or []
    is_stored = np.zeros(rows.num_rows, dtype=bool)
    targets: list[tuple[int, np.ndarray]] = []
    for file, data in zip(files, piece.column("positions")[0].as_py() or [], strict=True):
        positions = positions_of(data)
        is_stored[positions] = True
        targets.append((routing.bucket_of_file[file], positions))
    partition = piece.column("partition_path")[0].as_py()
    fresh = np.flatnonzero(~is_stored)
    if len(fresh) and not routing.drops_new:
        shares = routing.plan.shares.get(partition)
        if shares is None:
            raise InvariantError(f"{len(fresh)} new rows of partition {partition!r} have no bucket")
        hashes = key_hash(rows.column(RECORD_KEY).take(pa.array(fresh)))
        chosen = shares.bucket_of(hashes)
        targets.extend((bucket, fresh[local]) for bucket, local in split_by(chosen))
    for bucket, positions in targets:
        part = rows if len(positions) == rows.num_rows else rows.take(pa.array(positions))
        yield record_batch(
            [
                pa.array([routing.salts[bucket]], pa.int32()),
                pa.array([bucket], pa.int32()),
                pa.array([piece_id], pa.int64()),
                pa.array([to_bytes(part)], pa.binary()),
            ],
            ROUTED_SCHEMA,
        )


def _write(buckets: tuple[Bucket, ...], job: WriteJob, schema: pa.Schema) -> BatchFunction:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived: list[tuple[int, pa.RecordBatch]] = []
        number = None
        for batch in batches:
            ids = batch.column("piece_id").to_pylist()
            data = buffers(batch.column("rows"))
            arrived.extend((i, from_bytes(d, schema)) for i, d in zip(ids, data, strict=True))
            number = batch.column("bucket")[0].as_py()
        if number is None:
            return
        # The shuffle mixes the pieces; ties between equal ordering values go by arrival.
        arrived.sort(key=lambda pair: pair[0])
        rows = pa.Table.from_batches([part for _, part in arrived], schema=schema)
        arrived.clear()
        yield stat_batch(_write_bucket(buckets[number], job, rows))

    return write


def _write_bucket(bucket: Bucket, job: WriteJob, rows: pa.Table) -> list[WriteStat]:
    if bucket.base is not None:
        return [merge_file(job, this_task(), bucket.base, rows)]
    return list(
        create_files(
            job, this_task(), partition=bucket.partition, file_id=bucket.file_id, rows=rows
        )
    )
