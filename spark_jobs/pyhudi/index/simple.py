"""The SIMPLE index: incoming keys against the key column of the base files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.basefile.parquet import BaseFileReader
from pyhudi.storage.storage import Storage

# A hash table over this many keys takes about 100 MB of a worker's memory.
CHUNK_ROWS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPiece:
    """Record keys of some incoming rows of one partition, with their smallest and greatest."""

    piece_id: int
    keys: pa.Array
    min_key: str
    max_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """Rows of a piece whose keys a base file holds.

    Shapes: ``positions`` are int32 row numbers within the piece, ascending.
    """

    piece_id: int
    positions: npt.NDArray[np.int32]


def find_keys(storage: Storage, path: str, pieces: Sequence[KeyPiece]) -> Iterator[Hit]:
    """Which rows of the pieces have keys that the base file at ``path`` holds.

    Pieces outside the file's range of keys are not looked at; of the file only the key column is
    read, in batches.

    Guarantees: every row of a key is hit, also when the batch holds the key more than once.
    Source: HoodieSimpleIndex, Hudi 0.15 (join of incoming and stored keys of a partition).
    """
    with storage.open_input(path) as source:
        reader = BaseFileReader(source, name=storage.absolute(path))
        lowest, highest = reader.footer.min_key, reader.footer.max_key
        candidates = [piece for piece in pieces if _may_meet(piece, lowest, highest)]
        if not candidates:
            return
        incoming = pc.dictionary_encode(
            pa.concat_arrays([piece.keys.cast(pa.string()) for piece in candidates])
        )
        is_stored: npt.NDArray[np.bool_] = np.zeros(len(incoming.dictionary), dtype=bool)
        for stored in reader.keys():  # noqa: SIM118 - a file, not a dict
            met = pc.index_in(stored, value_set=incoming.dictionary).drop_null()
            is_stored[met.to_numpy()] = True
    if not is_stored.any():
        return
    is_hit = is_stored[incoming.indices.to_numpy()]
    start = 0
    for piece in candidates:
        found = np.flatnonzero(is_hit[start : start + len(piece.keys)])
        positions: npt.NDArray[np.int32] = found.astype(np.int32)
        start += len(piece.keys)
        if len(positions):
            yield Hit(piece_id=piece.piece_id, positions=positions)


def _may_meet(piece: KeyPiece, lowest: str | None, highest: str | None) -> bool:
    """Whether the ranges of keys overlap; a file without a range may hold any key.

    Both orders in use, UTF-16 code units and UTF-8 bytes, agree with Python's code points but for
    characters beyond U+FFFF, so a range with such a character does not rule a file out.
    """
    if lowest is None or highest is None:
        return True
    if any(ord(max(text, default=" ")) > 0xD7FF for text in (lowest, highest, piece.max_key)):
        return True
    return piece.min_key <= highest and piece.max_key >= lowest
