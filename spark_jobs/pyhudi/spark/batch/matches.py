"""Which rows of a batch share keys with which base files, and those rows beside their pieces.

The row positions of a small batch come to the driver with the counts that it needs anyway, four
bytes each, and go out with the code of the tasks. Those of a large one stay with Spark, which joins
them with the pieces; that takes some small Spark jobs more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from pyhudi.spark.batch.arrow_map import BatchFunction, few_rows_a_batch, map_in_arrow
from pyhudi.spark.batch.staging import StagedBatch

MATCH_SCHEMA = pa.schema(
    [
        pa.field("hit_piece", pa.int64()),
        pa.field("file", pa.int32()),
        pa.field("count_rows", pa.int64()),
        pa.field("positions", pa.binary()),
    ]
)
MOST_ROWS_AT_HAND = 1_000_000

_AtHand = Mapping[int, tuple[tuple[int, bytes], ...]]
_PLACES = (pa.field("files", pa.list_(pa.int32())), pa.field("positions", pa.list_(pa.binary())))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchCount:
    """How many rows of a piece share keys with a base file, both by number."""

    piece: int
    file: int
    count_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatches:
    """KeyMatches of a batch: their ``counts``, and the positions at hand or kept by Spark.

    ``at_hand`` has by piece each file with the positions in it; ``kept`` are DataFrames of
    ``MATCH_SCHEMA``. One of the two is empty.
    """

    counts: tuple[MatchCount, ...]
    at_hand: _AtHand
    kept: tuple[DataFrame, ...]

    def joined(self, other: KeyMatches) -> KeyMatches:
        """The hits of both."""
        at_hand = {
            piece: (*self.at_hand.get(piece, ()), *other.at_hand.get(piece, ()))
            for piece in {*self.at_hand, *other.at_hand}
        }
        kept = (*self.kept, *other.kept)
        return KeyMatches(counts=(*self.counts, *other.counts), at_hand=at_hand, kept=kept)

    def release(self) -> None:
        """Let Spark drop what it keeps."""
        for frame in self.kept:
            frame.unpersist()


NO_MATCHES = KeyMatches(counts=(), at_hand={}, kept=())


def gather(frame: DataFrame, batch_rows: int) -> KeyMatches:
    """Run a search for the keys of a batch of so many rows.

    Shapes: ``frame`` has a row for every piece and base file that share keys, as ``MATCH_SCHEMA``.
    """
    few = batch_rows <= MOST_ROWS_AT_HAND
    if not few:
        frame = frame.persist(StorageLevel.DISK_ONLY)
    with few_rows_a_batch(frame.sparkSession):
        found = (frame if few else frame.drop("positions")).collect()
    counts = tuple(
        MatchCount(piece=row.hit_piece, file=row.file, count_rows=row.count_rows) for row in found
    )
    if not few:
        return KeyMatches(counts=counts, at_hand={}, kept=(frame,))
    at_hand: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
    for row in found:
        at_hand[row.hit_piece].append((row.file, bytes(row.positions)))
    by_piece = {piece: tuple(sorted(places)) for piece, places in at_hand.items()}
    return KeyMatches(counts=counts, at_hand=by_piece, kept=())


def map_pieces(
    staged: StagedBatch, hits: KeyMatches, function: BatchFunction, schema: pa.Schema
) -> DataFrame:
    """Run a function over the pieces of a batch, each beside the files that share keys with it.

    Shapes: the function's batches have ``partition_path``, ``piece_id``, ``rows`` and two lists of
        one length, ``files`` and ``positions``, which are null where no key lives.
    """
    pieces = staged.frame.select("partition_path", "piece_id", "rows")
    if hits.kept:
        return map_in_arrow(_beside(pieces, hits.kept), function, schema)
    at_hand = hits.at_hand

    def located(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from function(_with_places(batch, at_hand) for batch in batches)

    return map_in_arrow(pieces, located, schema)


def positions_of(data: bytes) -> npt.NDArray[np.int32]:
    """The row positions of one hit."""
    positions: npt.NDArray[np.int32] = np.frombuffer(data, dtype=np.int32)
    return positions


def _with_places(batch: pa.RecordBatch, at_hand: _AtHand) -> pa.RecordBatch:
    found = [at_hand.get(piece) for piece in batch.column("piece_id").to_pylist()]
    places = [
        [None if hits is None else [hit[which] for hit in hits] for hits in found]
        for which in range(len(_PLACES))
    ]
    columns = [pa.array(v, f.type) for v, f in zip(places, _PLACES, strict=True)]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *columns], schema=pa.schema([*batch.schema, *_PLACES])
    )


def _beside(pieces: DataFrame, kept: tuple[DataFrame, ...]) -> DataFrame:
    first, *others = kept
    for other in others:
        first = first.unionAll(other)
    by_piece = first.groupBy("hit_piece").agg(
        F.sort_array(F.collect_list(F.struct("file", "positions"))).alias("hits")
    )
    hits = by_piece.select(
        "hit_piece",
        F.col("hits.file").alias("files"),
        F.col("hits.positions").alias("positions"),
    )
    return pieces.join(hits, pieces.piece_id == hits.hit_piece, "left").drop("hit_piece")
