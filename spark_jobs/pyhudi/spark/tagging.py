"""The index lookup, spread over tasks.

Each task holds the keys of at most a million incoming rows of one partition and reads the key
column of some of that partition's base files, so nothing holds a whole partition or batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.simple import CHUNK_ROWS, Hit, KeyPiece, find_keys
from pyhudi.keys.murmur import partition_salts
from pyhudi.spark.arrow_map import BatchFunction, few_rows_a_batch, map_in_arrow
from pyhudi.spark.pieces import KEY_SCHEMA, buffers, from_bytes, record_batch
from pyhudi.spark.staging import PieceInfo, StagedBatch
from pyhudi.storage.storage import Storage

_TASK_BYTES = 64 << 20

HIT_SCHEMA = pa.schema(
    [
        pa.field("hit_piece", pa.int64()),
        pa.field("file", pa.int32()),
        pa.field("count_rows", pa.int64()),
        pa.field("positions", pa.binary()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupTask:
    """Base files of one partition, by number, in which one task looks for some pieces' keys."""

    files: tuple[int, ...]
    pieces: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedBatch:
    """Where the keys of a batch live.

    ``hits`` has a row for every piece and base file that share keys (columns as ``HIT_SCHEMA``), or
    is None when no key lives anywhere; ``files`` are the base files by number; ``updates`` counts
    rows by file number; ``hit_rows`` counts by piece the rows whose key lives somewhere, once for
    each file it lives in, and ``hit_files`` the files.
    """

    hits: DataFrame | None
    files: tuple[BaseFile, ...]
    updates: Mapping[int, int]
    hit_rows: Mapping[int, int]
    hit_files: Mapping[int, int]

    def release(self) -> None:
        """Let Spark drop the hits."""
        if self.hits is not None:
            self.hits.unpersist()


def plan_lookup(
    pieces: Sequence[PieceInfo], files: Sequence[BaseFile], *, parallelism: int
) -> tuple[LookupTask, ...]:
    """Which task looks for which pieces in which files. Pure.

    Keys go to every task of their partition, so files are bundled; a bundle is small enough to
    give every core work.
    """
    by_partition: dict[str, list[int]] = defaultdict(list)
    for number, file in enumerate(files):
        by_partition[file.partition].append(number)
    total = sum(file.size_bytes for file in files)
    target = min(_TASK_BYTES, max(8 << 20, total // (parallelism * 2)))
    chunks = _chunks(pieces)
    return tuple(
        LookupTask(files=bundle, pieces=chunk)
        for partition, numbers in by_partition.items()
        for bundle in _bundles(numbers, files, target)
        for chunk in chunks.get(partition, ())
    )


def tag(staged: StagedBatch, files: Sequence[BaseFile], storage: Storage) -> TaggedBatch:
    """Look every key of the batch up in the latest base files of its partition."""
    parallelism = staged.frame.sparkSession.sparkContext.defaultParallelism
    tasks = plan_lookup(staged.pieces, files, parallelism=parallelism)
    if not tasks:
        return untagged(files)
    look = _lookup(tuple(files), tasks, storage)
    hits = map_in_arrow(_deliver(staged, tasks), look, HIT_SCHEMA)
    hits = hits.persist(StorageLevel.DISK_ONLY)
    updates: dict[int, int] = defaultdict(int)
    hit_rows: dict[int, int] = defaultdict(int)
    hit_files: dict[int, int] = defaultdict(int)
    with few_rows_a_batch(hits.sparkSession):
        found = hits.select("hit_piece", "file", "count_rows").collect()
    for row in found:
        updates[row.file] += row.count_rows
        hit_rows[row.hit_piece] += row.count_rows
        hit_files[row.hit_piece] += 1
    return TaggedBatch(
        hits=hits, files=tuple(files), updates=updates, hit_rows=hit_rows, hit_files=hit_files
    )


def untagged(files: Sequence[BaseFile]) -> TaggedBatch:
    """The answer without looking: no key lives anywhere, as for inserts."""
    return TaggedBatch(hits=None, files=tuple(files), updates={}, hit_rows={}, hit_files={})


def _deliver(staged: StagedBatch, tasks: Sequence[LookupTask]) -> DataFrame:
    """The keys of each piece once for every task that asks for it, in that task's partition."""
    salts = partition_salts(len(tasks)).tolist()
    wanted = [
        (piece, number, salts[number]) for number, task in enumerate(tasks) for piece in task.pieces
    ]
    spark = staged.frame.sparkSession
    orders = spark.createDataFrame(wanted, "piece_id long, task int, salt int")
    keys = staged.frame.select("piece_id", "min_key", "max_key", "keys")
    delivered = keys.join(F.broadcast(orders), "piece_id")
    return delivered.repartition(len(tasks), "salt")


def _lookup(
    files: tuple[BaseFile, ...], tasks: tuple[LookupTask, ...], storage: Storage
) -> BatchFunction:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces: list[KeyPiece] = []
        number = None
        for batch in batches:
            pieces.extend(_key_pieces(batch))
            number = batch.column("task")[0].as_py()
        if number is None:
            return
        pieces.sort(key=lambda piece: piece.piece_id)
        for file in tasks[number].files:
            hits = list(find_keys(storage, files[file].path, pieces))
            if hits:
                yield _hit_batch(file, hits)

    return look


def _key_pieces(batch: pa.RecordBatch) -> Iterator[KeyPiece]:
    ids = batch.column("piece_id").to_pylist()
    lows, highs = batch.column("min_key").to_pylist(), batch.column("max_key").to_pylist()
    for piece_id, low, high, data in zip(
        ids, lows, highs, buffers(batch.column("keys")), strict=True
    ):
        keys = from_bytes(data, KEY_SCHEMA).column(0)
        yield KeyPiece(piece_id=piece_id, keys=keys, min_key=low, max_key=high)


def _hit_batch(file: int, hits: Sequence[Hit]) -> pa.RecordBatch:
    return record_batch(
        [
            pa.array([hit.piece_id for hit in hits], pa.int64()),
            pa.array([file] * len(hits), pa.int32()),
            pa.array([len(hit.positions) for hit in hits], pa.int64()),
            pa.array([hit.positions.tobytes() for hit in hits], pa.binary()),
        ],
        HIT_SCHEMA,
    )


def positions_of(data: bytes) -> npt.NDArray[np.int32]:
    """The row positions of one hit."""
    positions: npt.NDArray[np.int32] = np.frombuffer(data, dtype=np.int32)
    return positions


def _chunks(pieces: Sequence[PieceInfo]) -> dict[str, list[tuple[int, ...]]]:
    """Per partition the pieces in groups of at most ``CHUNK_ROWS`` rows."""
    groups: dict[str, list[list[int]]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for piece in sorted(pieces, key=lambda piece: piece.piece_id):
        partition = piece.partition_path
        size = sizes.get(partition, CHUNK_ROWS)
        if size + piece.count_rows > CHUNK_ROWS:
            groups[partition].append([])
            size = 0
        groups[partition][-1].append(piece.piece_id)
        sizes[partition] = size + piece.count_rows
    return {partition: [tuple(group) for group in found] for partition, found in groups.items()}


def _bundles(
    numbers: Sequence[int], files: Sequence[BaseFile], target_bytes: int
) -> Iterator[tuple[int, ...]]:
    bundle: list[int] = []
    size = 0
    for number in numbers:
        if bundle and size + files[number].size_bytes > target_bytes:
            yield tuple(bundle)
            bundle, size = [], 0
        bundle.append(number)
        size += files[number].size_bytes
    if bundle:
        yield tuple(bundle)
