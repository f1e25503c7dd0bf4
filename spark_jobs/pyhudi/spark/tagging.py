"""The index lookup, spread over tasks.

Each task holds the keys of at most a million incoming rows and reads the key column, or first the
bloom filter, of some base files, so nothing holds a whole partition or batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.simple import CHUNK_ROWS, Hit, KeyLookup, KeyPiece, find_keys
from pyhudi.keys.murmur import partition_salts
from pyhudi.spark.batch.arrow_map import BatchFunction, few_rows_a_batch, map_in_arrow
from pyhudi.spark.batch.pieces import KEY_SCHEMA, buffers, from_bytes, record_batch
from pyhudi.spark.batch.staging import PieceInfo, StagedBatch
from pyhudi.storage.storage import Storage
from pyhudi.write.sharing import share_tasks

_TASK_BYTES = 64 << 20
_LEAST_TASK_BYTES = 8 << 20

HIT_SCHEMA = pa.schema(
    [
        pa.field("hit_piece", pa.int64()),
        pa.field("file", pa.int32()),
        pa.field("count_rows", pa.int64()),
        pa.field("positions", pa.binary()),
    ]
)
_DELIVERED_SCHEMA = pa.schema(
    [
        pa.field("piece_id", pa.int64()),
        pa.field("min_key", pa.string()),
        pa.field("max_key", pa.string()),
        pa.field("keys", pa.binary()),
        pa.field("task", pa.int32()),
        pa.field("salt", pa.int32()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Base files, by number, in which some pieces' keys are looked for.

    Both are of one partition, unless keys are looked for in the whole table.
    """

    files: tuple[int, ...]
    pieces: tuple[int, ...]


LookupTask = tuple[Search, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedBatch:
    """Where the keys of a batch live.

    ``hits`` has a row for every piece and base file that share keys (columns as ``HIT_SCHEMA``), or
    is None when no key lives anywhere; ``files`` are the base files by number; ``updates`` counts
    rows by file number; ``hit_rows`` counts by piece the rows whose key lives somewhere, once for
    each file it lives in, and ``hit_files`` the files. ``foreign`` are the files whose keys come
    with other partitions than theirs. ``groups`` are numbers in the hits that are no files: of rows
    that must meet before they are inserted. ``kept`` is what Spark keeps of the hits.
    """

    hits: DataFrame | None
    files: tuple[BaseFile, ...]
    updates: Mapping[int, int] = field(default_factory=dict)
    hit_rows: Mapping[int, int] = field(default_factory=dict)
    hit_files: Mapping[int, int] = field(default_factory=dict)
    foreign: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()
    kept: tuple[DataFrame, ...] = ()

    def release(self) -> None:
        """Let Spark drop the hits."""
        for frame in self.kept:
            frame.unpersist()


def plan_lookup(
    pieces: Sequence[PieceInfo],
    files: Sequence[BaseFile],
    *,
    parallelism: int,
    is_global: bool = False,
) -> tuple[LookupTask, ...]:
    """Which task looks for which pieces in which files. Pure.

    Keys go to every task of their partition, or of the table when ``is_global``, so files are
    bundled; a bundle is small enough to give every core work. Partitions of small files share a
    task as long as its keys are few.
    """
    if is_global:
        pieces = [replace(piece, partition_path="") for piece in pieces]
    by_partition: dict[str, list[int]] = defaultdict(list)
    for number, file in enumerate(files):
        by_partition["" if is_global else file.partition].append(number)
    chunks = _chunks(pieces)
    read = sum(files[n].size_bytes for path in chunks for n in by_partition.get(path, ()))
    target = min(_TASK_BYTES, max(_LEAST_TASK_BYTES, read // (parallelism * 2)))
    searches = [
        Search(files=bundle, pieces=chunk)
        for partition, numbers in by_partition.items()
        for bundle in _bundles(numbers, files, target)
        for chunk in chunks.get(partition, ())
    ]
    rows = {piece.piece_id: piece.count_rows for piece in pieces}
    sizes = [
        (sum(files[n].size_bytes for n in s.files), sum(rows[p] for p in s.pieces))
        for s in searches
    ]
    together = share_tasks(sizes, bounds=(target, CHUNK_ROWS))
    return tuple(tuple(searches[n] for n in numbers) for numbers in together)


def tag(
    staged: StagedBatch,
    files: Sequence[BaseFile],
    storage: Storage,
    lookup: KeyLookup,
    *,
    is_global: bool = False,
) -> TaggedBatch:
    """Look every key of the batch up in the latest base files of its partition.

    With ``is_global`` it is looked up in all the files.
    """
    parallelism = staged.frame.sparkSession.sparkContext.defaultParallelism
    tasks = plan_lookup(staged.pieces, files, parallelism=parallelism, is_global=is_global)
    if not tasks:
        return untagged(files)
    look = _lookup(tuple(files), tasks, storage, lookup)
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
    paths = {piece.piece_id: piece.partition_path for piece in staged.pieces}
    return TaggedBatch(
        hits=hits,
        files=tuple(files),
        updates=updates,
        hit_rows=hit_rows,
        hit_files=hit_files,
        foreign=frozenset(
            row.file for row in found if files[row.file].partition != paths[row.hit_piece]
        ),
        kept=(hits,),
    )


def untagged(files: Sequence[BaseFile]) -> TaggedBatch:
    """The answer without looking: no key lives anywhere, as for inserts."""
    return TaggedBatch(hits=None, files=tuple(files))


def _deliver(staged: StagedBatch, tasks: Sequence[LookupTask]) -> DataFrame:
    """The keys of each piece once for every task that asks for it, in that task's partition."""
    salts = partition_salts(len(tasks)).tolist()
    wanted: dict[int, list[int]] = defaultdict(list)
    for number, task in enumerate(tasks):
        for piece in sorted({piece for search in task for piece in search.pieces}):
            wanted[piece].append(number)

    def deliver(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row, piece in enumerate(batch.column("piece_id").to_pylist()):
                values = batch.slice(row, 1).columns
                for number in wanted.get(piece, ()):
                    place = [pa.array([number], pa.int32()), pa.array([salts[number]], pa.int32())]
                    yield record_batch([*values, *place], _DELIVERED_SCHEMA)

    keys = staged.frame.select("piece_id", "min_key", "max_key", "keys")
    return map_in_arrow(keys, deliver, _DELIVERED_SCHEMA).repartition(len(tasks), "salt")


def _lookup(
    files: tuple[BaseFile, ...],
    tasks: tuple[LookupTask, ...],
    storage: Storage,
    lookup: KeyLookup,
) -> BatchFunction:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces: dict[int, KeyPiece] = {}
        number = None
        for batch in batches:
            pieces.update((piece.piece_id, piece) for piece in _key_pieces(batch))
            number = batch.column("task")[0].as_py()
        if number is None:
            return
        for search in tasks[number]:
            sought = [pieces[piece] for piece in sorted(search.pieces)]
            for file in search.files:
                hits = list(find_keys(storage, files[file].path, sought, lookup))
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


def with_hits(staged: StagedBatch, tagged: TaggedBatch) -> DataFrame:
    """The rows of each piece beside the files that share keys with it, and where they do.

    Shapes: ``files`` and ``positions`` are lists of one length, or null where no key lives.
    """
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
