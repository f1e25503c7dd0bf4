"""Incoming keys against the keys of a base file: the SIMPLE index, and the end of BLOOM."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.basefile.footer import FooterMetadata
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import OpenBaseFile, open_base
from pyhudi.fileslice.reader import SliceLogs
from pyhudi.index.bloom import may_hold
from pyhudi.keys.generators import KeyGenerator
from pyhudi.keys.key_positions import ABSENT, SoughtKeys
from pyhudi.schema.columns import Column, Flags, Positions, flags_of
from pyhudi.storage.storage import Storage

# To search for this many keys takes about 100 MB of a worker's memory.
CHUNK_ROWS = 1_000_000
_MOST_ROWS: Final = 2**31 - 1


def _nothing() -> npt.NDArray[np.int32]:
    return np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPiece:
    """Record keys of some incoming rows of one partition, with their smallest and greatest."""

    piece_id: int
    keys: pa.Array
    min_key: str
    max_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyMatch:
    """Rows of a piece whose keys a base file holds.

    Shapes: ``positions`` are row numbers within the piece, ascending; ``stored_rows`` for each of
        them that of the row in the file which has its key, negative where several have it, or
        nothing at all where nobody asked.
    """

    piece_id: int
    positions: npt.NDArray[np.int32]
    stored_rows: npt.NDArray[np.int32] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLookup:
    """How a file is asked for keys; the answer is the same however it is done.

    ``asks_filters`` reads the keys of a file only if its bloom filter does not deny all of them,
    ``prunes_by_ranges`` only if they can lie between its smallest and its greatest key.
    ``virtual_keys`` makes the keys of stored rows where files keep none. With ``logs`` a file does
    not hold the keys that its log files delete. ``asks_rows`` asks for the row of each key, too.
    """

    asks_filters: bool = False
    prunes_by_ranges: bool = True
    virtual_keys: KeyGenerator | None = None
    logs: SliceLogs | None = None
    asks_rows: bool = False


class Sought:
    """Pieces that are looked for in one file after another: what that takes is made once."""

    def __init__(self, pieces: Sequence[KeyPiece]) -> None:
        self.pieces = tuple(pieces)
        self._made: tuple[tuple[int, ...], SoughtKeys] | None = None

    def keys_of(self, pieces: Sequence[KeyPiece]) -> SoughtKeys:
        """The keys of some of the pieces, one after another."""
        ids = tuple(piece.piece_id for piece in pieces)
        if self._made is None or self._made[0] != ids:
            keys = pa.concat_arrays([piece.keys.cast(pa.string()) for piece in pieces])
            self._made = ids, SoughtKeys(keys)
        return self._made[1]


def find_keys(
    storage: Storage, file: BaseFile, sought: Sought, lookup: KeyLookup
) -> Iterator[KeyMatch]:
    """Which rows of the pieces have keys that a base file holds.

    Pieces outside the file's range of keys are not looked at; of the file only the key column is
    read, in batches, or the columns that keys are made of.

    Guarantees: every row of a key is found, also when the batch holds the key more than once. Of a
        file that can hold none of the keys the footer alone is read.
    Source: HoodieSimpleIndex, HoodieBloomIndex, Hudi 0.15 and 1.1 (which files and keys count).
    """
    with open_base(storage, file) as base:
        candidates = _candidates(sought.pieces, base.footer, lookup)
        if not candidates:
            return
        keys = sought.keys_of(candidates)
        numbers = _stored_rows(keys, base, lookup)
        asks_rows = lookup.asks_rows and base.row_count <= _MOST_ROWS
    is_stored: Flags = numbers != ABSENT
    if lookup.logs is not None and is_stored.any():
        is_stored &= _are_left(keys, storage, file, lookup.logs)
    start = 0
    for piece in candidates:
        found = np.flatnonzero(is_stored[start : start + len(piece.keys)])
        positions: npt.NDArray[np.int32] = found.astype(np.int32)
        match = KeyMatch(piece_id=piece.piece_id, positions=positions)
        if asks_rows:
            match = replace(match, stored_rows=numbers[start + found].astype(np.int32))
        start += len(piece.keys)
        if len(positions):
            yield match


def _stored_rows(sought: SoughtKeys, base: OpenBaseFile, lookup: KeyLookup) -> Positions:
    """The row of the file that holds each of the keys, as ``SoughtKeys.rows_among``.

    Where nobody asks for rows, which costs a tenth more, it is the first for every key held.
    """
    if lookup.asks_filters:
        numbers: Positions = np.full(len(sought.keys), ABSENT)
        passes = may_hold(base.footer, sought.keys)
        if not passes.true_count:
            return numbers
        passing = flags_of(passes)
        if not passing.all():
            rest = replace(lookup, asks_filters=False)
            numbers[passing] = _stored_rows(SoughtKeys(sought.keys.filter(passes)), base, rest)
            return numbers
    keys = partial(_keys_of, base, lookup)
    if lookup.asks_rows:
        return sought.rows_among(keys)
    return np.where(sought.are_among(keys), 0, ABSENT)


def _keys_of(base: OpenBaseFile, lookup: KeyLookup, rows: int) -> Iterator[Column]:
    return base.keys(lookup.virtual_keys, rows=rows)


def _are_left(keys: SoughtKeys, storage: Storage, file: BaseFile, logs: SliceLogs) -> Flags:
    """Whether log files leave each of the keys in a file's slice."""
    merged = logs.rows(storage, file, ())
    if merged is None:
        return np.ones(len(keys.keys), dtype=bool)
    return keys.are_among(lambda _: map(logs.reading.keys_of, merged))


def _candidates(
    pieces: Sequence[KeyPiece], footer: FooterMetadata, lookup: KeyLookup
) -> Sequence[KeyPiece]:
    if not lookup.prunes_by_ranges:
        return pieces
    return [piece for piece in pieces if _may_meet(piece, footer.min_key, footer.max_key)]


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
