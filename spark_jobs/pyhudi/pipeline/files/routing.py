"""From buckets to tasks to write statistics.

Every row of a staged batch is sent to the task of its bucket; each task writes one file group, or
several small ones.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.errors import InvariantError
from pyhudi.index.bucket import BucketHash
from pyhudi.keys.key_hash import key_hash
from pyhudi.pipeline.batch.matches import map_pieces, positions_of
from pyhudi.pipeline.batch.pieces import (
    KEY_SCHEMA,
    buffers,
    from_bytes,
    one_by_one,
    one_row,
    record_batch,
    to_bytes,
)
from pyhudi.pipeline.batch.staging import StagedBatch, split_by
from pyhudi.pipeline.lookup.relocation import NO_FILE
from pyhudi.pipeline.lookup.result import LookupResult
from pyhudi.runner.runner import SHUFFLE_KEY, Runner, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.columns import Positions
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.context import WriteContext
from pyhudi.write.files.append import append_rows
from pyhudi.write.files.create import create_files
from pyhudi.write.files.merge import merge_file
from pyhudi.write.plan.buckets import BucketPlan, WriteBucket
from pyhudi.write.plan.hash_buckets import NOWHERE
from pyhudi.write.plan.sharing import share_tasks

ROUTED_SCHEMA = pa.schema(
    [
        pa.field(SHUFFLE_KEY, pa.int32()),
        pa.field("bucket", pa.int32()),
        pa.field("piece_id", pa.int64()),
        pa.field("rows", pa.binary()),
        pa.field("moved_keys", pa.binary()),
        pa.field("stored_rows", pa.binary()),
    ]
)
STAT_SCHEMA = pa.schema([pa.field("stat", pa.string()), pa.field("ignored", pa.int64())])

_NEVER_FULL = 1 << 62
# Buckets share a task as long as neither what they rewrite nor what arrives for them is much.
_TASK_BYTES = 32 << 20
_TASK_ROWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """How a piece's rows find their buckets.

    ``drops_new`` leaves out rows of new keys, ``drops_stored`` those of keys the table has;
    ``relocated`` are the numbers in matches whose rows come on their own, and ``beneath`` those of
    files that lie right below the log which their rows are appended to. Rows of buckets that are
    ``skipped`` go nowhere. ``hash`` says where keys
    belong in a table with the BUCKET index.
    """

    plan: BucketPlan
    bucket_of_file: Mapping[int, int]
    relocated: frozenset[int]
    hash: BucketHash | None
    shuffle_keys: np.ndarray
    skipped: frozenset[int] = frozenset()
    beneath: frozenset[int] = frozenset()
    schema: pa.Schema
    drops_new: bool
    drops_stored: bool

    def bucket_of(self, partition: str, keys: pa.Array) -> np.ndarray:
        """The bucket of each new key of a partition; ``NOWHERE`` for a row that is left out."""
        shares = self.plan.shares.get(partition)
        if shares is None:
            raise InvariantError(f"{len(keys)} new rows of partition {partition!r} have no bucket")
        if self.hash is None:
            return shares.bucket_of(key_hash(keys))
        return shares.bucket_of(self.hash.buckets_of(keys).astype(np.uint64))


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneBuckets:
    """What an earlier try at this instant has written.

    The buckets that are ``skipped``, by number, have their files. ``before`` is how many there were
    in earlier plans: no two rows of an instant have one number.
    """

    skipped: frozenset[int] = frozenset()
    before: int = 0


NO_BUCKETS = DoneBuckets()


def write_buckets(
    runner: Runner,
    staged: StagedBatch,
    found: LookupResult,
    plan: BucketPlan,
    *,
    context: WriteContext,
    schema: pa.Schema,
    done: DoneBuckets = NO_BUCKETS,
) -> list[WriteStat]:
    """Write every bucket, a task each, and give the statistics of the files that count.

    Buckets that are ``done`` have their files already.

    Shapes: ``schema`` is that of the staged rows.
    Guarantees: of the attempts of a task only the one that the runner took is in the result.
    """
    buckets = tuple(bucket for bucket in plan.buckets if bucket.number not in done.skipped)
    if not buckets:
        return []
    tasks = _tasks(buckets, runner.parallelism)
    task_of = {number: task for task, numbers in enumerate(tasks) for number in numbers}
    shuffle_keys = runner.shuffle_keys(len(tasks))
    hashes, relocated = found.hashes, found.relocated
    bucket_of_file = _buckets_of_files(found, plan)
    routing = Routing(
        plan=plan,
        bucket_of_file=bucket_of_file,
        beneath=_files_beneath(found, plan, bucket_of_file),
        relocated=frozenset() if relocated is None else relocated.files,
        hash=None if hashes is None else hashes.hash,
        shuffle_keys=shuffle_keys[[task_of.get(bucket.number, 0) for bucket in plan.buckets]],
        skipped=done.skipped,
        schema=schema,
        drops_new=context.is_deleting and hashes is None,
        drops_stored=context.drops_stored,
    )
    routed = map_pieces(staged, found.tagged.matches, _each(_route, routing), ROUTED_SCHEMA)
    if relocated is not None:
        others = relocated.rows.map(_each(_route_relocated, routing), ROUTED_SCHEMA)
        routed = routed.union(others)
    if hashes is not None:
        # A hash bucket is one file group, however large it becomes.
        context = replace(context, max_file_size_bytes=_NEVER_FULL)
    write = _write(plan.buckets, context, schema, done.before)
    return stats_of(routed.exchange(len(tasks)).map(write, STAT_SCHEMA))


def _tasks(buckets: Sequence[WriteBucket], parallelism: int) -> tuple[tuple[int, ...], ...]:
    """Which buckets, by number, one task writes after another."""
    sizes = [
        (0 if b.base is None else b.base.bytes_to_read, b.updates + b.inserts) for b in buckets
    ]
    rows = sum(rows for _, rows in sizes) // (parallelism * 4)
    size_bytes = sum(size for size, _ in sizes) // (parallelism * 4)
    bounds = (min(_TASK_BYTES, size_bytes), min(_TASK_ROWS, rows))
    tasks = share_tasks(sizes, bounds=bounds)
    numbers = [bucket.number for bucket in buckets]

    def size(task: tuple[int, ...]) -> tuple[int, int]:
        return sum(sizes[n][0] for n in task), sum(sizes[n][1] for n in task)

    # Spark starts tasks in their order; with a large one last, all other cores would wait for it.
    ordered = sorted(tasks, key=size, reverse=True)
    return tuple(tuple(numbers[n] for n in task) for task in ordered)


def _buckets_of_files(found: LookupResult, plan: BucketPlan) -> dict[int, int]:
    touched = set(found.tagged.updates())
    if found.relocated is not None:
        touched.update(found.relocated.updates)
    return {
        number: plan.by_file[file.partition, file.file_id]
        for number, file in enumerate(found.files)
        if (file.partition, file.file_id) in plan.by_file and number in touched
    }


def _files_beneath(
    found: LookupResult, plan: BucketPlan, bucket_of_file: Mapping[int, int]
) -> frozenset[int]:
    """The files in whose slice their rows are appended: no compaction begins another one."""
    logs = {number: plan.buckets[bucket].log for number, bucket in bucket_of_file.items()}
    return frozenset(
        number
        for number, log in logs.items()
        if log is not None and log.base_file == found.files[number].name
    )


def stats_of(written: SpreadRows) -> list[WriteStat]:
    """Run the write and collect its statistics."""
    return [
        replace(WriteStat.from_json(json.loads(row.stat)), num_ignored=row.ignored)
        for row in written.collect()
    ]


def stat_batch(stats: Sequence[WriteStat]) -> pa.RecordBatch:
    """Statistics as they leave a task."""
    texts = [json.dumps(stat.to_json()) for stat in stats]
    ignored = pa.array([stat.num_ignored for stat in stats], pa.int64())
    return record_batch([pa.array(texts, pa.string()), ignored], STAT_SCHEMA)


def _each(
    route: Callable[[Routing, pa.RecordBatch], Iterator[pa.RecordBatch]], routing: Routing
) -> TaskFunction:
    def run(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in one_by_one(batches):
            yield from route(routing, piece)

    return run


def _route(routing: Routing, piece: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = from_bytes(buffers(piece.column("rows"))[0], routing.schema)
    piece_id = piece.column("piece_id")[0].as_py()
    files = piece.column("files")[0].as_py() or []
    is_stored = np.zeros(rows.num_rows, dtype=bool)
    targets: list[tuple[int, np.ndarray, bytes | None]] = []
    places = (piece.column(name)[0].as_py() or [] for name in ("positions", "stored_rows"))
    for file, data, stored_rows in zip(files, *places, strict=True):
        positions = positions_of(data)
        is_stored[positions] = True
        if not routing.drops_stored and file not in routing.relocated:
            known = stored_rows if stored_rows and file in routing.beneath else None
            targets.append((routing.bucket_of_file[file], positions, known))
    partition = piece.column("partition_path")[0].as_py()
    fresh = np.flatnonzero(~is_stored)
    if len(fresh) and not routing.drops_new:
        chosen = routing.bucket_of(partition, rows.column(RECORD_KEY).take(pa.array(fresh)))
        targets.extend((bucket, fresh[local], None) for bucket, local in split_by(chosen))
    for bucket, positions, known in targets:
        if bucket != NOWHERE and bucket not in routing.skipped:
            part = rows if len(positions) == rows.num_rows else rows.take(pa.array(positions))
            yield _routed(routing, bucket, piece_id, to_bytes(part), None, known)


def _route_relocated(routing: Routing, piece: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    piece_id, file = piece.column("piece_id")[0].as_py(), piece.column("file")[0].as_py()
    data, moved = piece.column("rows")[0].as_py(), piece.column("moved_keys")[0].as_py()
    if data is None and moved is None:
        return
    if file != NO_FILE:
        yield _routed(routing, routing.bucket_of_file[file], piece_id, data, moved)
        return
    rows = from_bytes(data, routing.schema)
    chosen = routing.bucket_of(piece.column("partition_path")[0].as_py(), rows.column(RECORD_KEY))
    for bucket, positions in split_by(chosen):
        part = to_bytes(rows.take(pa.array(positions)))
        yield _routed(routing, bucket, piece_id, part, None)


def _routed(
    routing: Routing,
    bucket: int,
    piece_id: int,
    rows: bytes | None,
    moved: bytes | None,
    stored_rows: bytes | None = None,
) -> pa.RecordBatch:
    place = routing.shuffle_keys[bucket], bucket, piece_id
    return one_row([*place, rows, moved, stored_rows], ROUTED_SCHEMA)


def _write(
    buckets: tuple[WriteBucket, ...], context: WriteContext, schema: pa.Schema, before: int
) -> TaskFunction:
    def write(task: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrived: dict[int, list[tuple[int, pa.RecordBatch, bytes | None]]] = defaultdict(list)
        moved: dict[int, list[pa.Array]] = defaultdict(list)
        for batch in batches:
            numbers = batch.column("bucket").to_pylist()
            ids, known = (batch.column(name).to_pylist() for name in ("piece_id", "stored_rows"))
            data, gone = buffers(batch.column("rows")), buffers(batch.column("moved_keys"))
            for number, piece_id, rows, keys, stored_rows in zip(
                numbers, ids, data, gone, known, strict=True
            ):
                if rows is not None:
                    arrived[number].append((piece_id, from_bytes(rows, schema), stored_rows))
                if keys is not None:
                    moved[number].append(from_bytes(keys, KEY_SCHEMA).column(0))
        for number in sorted({*arrived, *moved}):
            # The exchange mixes the pieces; ties between equal ordering values go by arrival.
            parts = sorted(arrived.pop(number, []), key=lambda part: part[0])
            table = pa.Table.from_batches([part for _, part, _ in parts], schema=schema)
            places = _stored_rows([known for *_, known in parts])
            parts.clear()
            going = moved.pop(number, [])
            keys = pa.concat_arrays(going) if going else None
            # Sequence numbers count within a bucket, and a task may write several.
            own = replace(task, partition_id=before + number)
            yield stat_batch(_write_bucket(buckets[number], context, own, table, keys, places))

    return write


def _stored_rows(parts: Sequence[bytes | None]) -> Positions | None:
    """The row numbers of all parts; None where those of some are not known."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return np.concatenate([positions_of(part) for part in known]).astype(np.int64)


def _write_bucket(
    bucket: WriteBucket,
    context: WriteContext,
    task: TaskIdentity,
    rows: pa.Table,
    moved_keys: pa.Array | None,
    stored_rows: Positions | None,
) -> list[WriteStat]:
    if bucket.log is not None:
        return append_rows(
            context, task, bucket.log, rows, moved_keys=moved_keys, stored_rows=stored_rows
        )
    if bucket.base is not None:
        return [merge_file(context, task, bucket.base, rows, moved_keys)]
    return list(
        create_files(context, task, partition=bucket.partition, file_id=bucket.file_id, rows=rows)
    )
