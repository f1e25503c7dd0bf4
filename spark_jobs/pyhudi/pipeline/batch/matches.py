"""Which rows of a batch share keys with which base files, and those rows beside their pieces.

The row positions of a small batch come to the driver with the counts that it needs anyway, four
bytes each and four more where those in the base file are asked for too, and go out with the code of
the tasks. Those of a large one stay where they are held and are joined with the pieces, which takes
some small jobs more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.pipeline.batch.staging import StagedBatch
from pyhudi.runner.runner import SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity

MATCH_SCHEMA = pa.schema(
    [
        pa.field("match_piece", pa.int64()),
        pa.field("file", pa.int32()),
        pa.field("count_rows", pa.int64()),
        pa.field("positions", pa.binary()),
        pa.field("stored_rows", pa.binary()),
    ]
)
MOST_ROWS_AT_HAND = 1_000_000

_AtHand = Mapping[int, tuple[tuple[int, bytes, bytes], ...]]
_LISTS = (
    pa.field("files", pa.list_(pa.int32())),
    pa.field("positions", pa.list_(pa.binary())),
    pa.field("stored_rows", pa.list_(pa.binary())),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchCount:
    """How many rows of a piece share keys with a base file, both by number."""

    piece: int
    file: int
    count_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatches:
    """Which rows of a batch share keys with which base files.

    ``at_hand`` has by piece each file with the row positions in the piece and in the file; ``held``
    are rows of ``MATCH_SCHEMA``. One of the two is empty.
    """

    counts: tuple[MatchCount, ...]
    at_hand: _AtHand
    held: tuple[SpreadRows, ...]

    def joined(self, other: KeyMatches) -> KeyMatches:
        """The matches of both."""
        at_hand = {
            piece: (*self.at_hand.get(piece, ()), *other.at_hand.get(piece, ()))
            for piece in {*self.at_hand, *other.at_hand}
        }
        held = (*self.held, *other.held)
        return KeyMatches(counts=(*self.counts, *other.counts), at_hand=at_hand, held=held)

    def release(self) -> None:
        """Drop what is held."""
        for rows in self.held:
            rows.release()


NO_MATCHES = KeyMatches(counts=(), at_hand={}, held=())


def gather(rows: SpreadRows, batch_rows: int) -> KeyMatches:
    """Run a search for the keys of a batch of so many rows.

    Shapes: ``rows`` has one for every piece and base file that share keys, as ``MATCH_SCHEMA``.
    """
    few = batch_rows <= MOST_ROWS_AT_HAND
    if not few:
        rows = rows.hold()
    found = rows.collect() if few else rows.collect("match_piece", "file", "count_rows")
    counts = tuple(
        MatchCount(piece=row.match_piece, file=row.file, count_rows=row.count_rows) for row in found
    )
    if not few:
        return KeyMatches(counts=counts, at_hand={}, held=(rows,))
    at_hand: dict[int, list[tuple[int, bytes, bytes]]] = defaultdict(list)
    for row in found:
        place = row.file, bytes(row.positions), bytes(row.stored_rows)
        at_hand[row.match_piece].append(place)
    by_piece = {piece: tuple(sorted(places)) for piece, places in at_hand.items()}
    return KeyMatches(counts=counts, at_hand=by_piece, held=())


def map_pieces(
    staged: StagedBatch, matches: KeyMatches, function: TaskFunction, schema: pa.Schema
) -> SpreadRows:
    """Run a function over the pieces of a batch, each beside the files that share keys with it.

    Shapes: the function's batches have ``partition_path``, ``piece_id``, ``rows`` and three lists
        of one length, ``files``, ``positions`` and ``stored_rows``, which are null where no key is
        stored.
    """
    pieces = staged.rows.select("partition_path", "piece_id", "rows")
    if matches.held:
        first, *others = matches.held
        for other in others:
            first = first.union(other)
        names = ("file", "positions", "stored_rows")
        lists = dict(zip(names, (field.name for field in _LISTS), strict=True))
        beside = pieces.with_lists(first, key="piece_id", other_key="match_piece", lists=lists)
        return beside.map(function, schema)
    at_hand = matches.at_hand

    def located(task: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from function(task, (_with_lists(batch, at_hand) for batch in batches))

    return pieces.map(located, schema)


def positions_of(data: bytes) -> npt.NDArray[np.int32]:
    """The row positions of one match, in its piece or in its file."""
    positions: npt.NDArray[np.int32] = np.frombuffer(data, dtype=np.int32)
    return positions


def _with_lists(batch: pa.RecordBatch, at_hand: _AtHand) -> pa.RecordBatch:
    found = [at_hand.get(piece) for piece in batch.column("piece_id").to_pylist()]
    lists = [
        [None if matches is None else [match[which] for match in matches] for matches in found]
        for which in range(len(_LISTS))
    ]
    columns = [pa.array(v, f.type) for v, f in zip(lists, _LISTS, strict=True)]
    return pa.RecordBatch.from_arrays(
        [*batch.columns, *columns], schema=pa.schema([*batch.schema, *_LISTS])
    )
