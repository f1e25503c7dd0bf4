"""The BUCKET index: a hash of the record key chooses one of a partition's file groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.keys.java_hash import Hashes, java_string_hash
from pyhudi.keys.record_key import EMPTY_PLACEHOLDER, NULL_PLACEHOLDER
from pyhudi.schema.columns import Flags, flags_of

Buckets: TypeAlias = npt.NDArray[np.int64]

_FACTOR: Final = np.uint32(31)
_ALL_BUT_SIGN: Final = np.uint32(0x7FFFFFFF)
# The first pair of a key, and what follows it: a comma ends a value only before the next name.
_PAIR: Final = r"(?s)^(?P<name>[^:]*):(?P<value>.*?)(?:,(?P<rest>[^,:]*:.*))?$"


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketHash:
    """Which bucket a record key belongs to.

    ``fields`` are the columns of the key that count. ``is_old`` takes keys apart as Hudi 0.15 does,
    which differs from 1.x for single values with colons in them alone.
    """

    num_buckets: int
    fields: tuple[str, ...]
    is_old: bool = False

    def buckets_of(self, keys: pa.Array | pa.ChunkedArray) -> Buckets:
        """The bucket of each record key.

        Shapes: plain strings without nulls; one bucket number a key, from 0.
        Source: BucketIdentifier.getBucketId, KeyGenUtils.extractRecordKeysByFields, Hudi 0.15 and
            1.1.
        """
        chunks = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
        parts = [self._hashes(chunk) for chunk in chunks]
        hashes = np.concatenate([np.zeros(0, dtype=np.uint32), *parts])
        buckets: Buckets = ((hashes & _ALL_BUT_SIGN) % np.uint32(self.num_buckets)).astype(np.int64)
        return buckets

    def _hashes(self, keys: pa.Array) -> Hashes:
        has_parts = pc.match_substring(keys, ":")
        if not self.is_old:
            has_parts = pc.and_(has_parts, pc.match_substring(keys, ","))
        is_parted = flags_of(has_parts)
        hashes = _FACTOR + java_string_hash(keys)
        if is_parted.any():
            parted = keys.filter(has_parts)
            hashes[is_parted] = self._old_parts(parted) if self.is_old else self._parts(parted)
        return hashes

    def _parts(self, keys: pa.Array) -> Hashes:
        hashes: Hashes = np.ones(len(keys), dtype=np.uint32)
        is_used: Flags = np.zeros(len(keys), dtype=bool)
        rows = np.arange(len(keys))
        rest = keys
        while len(rows):
            pairs = pc.extract_regex(rest, _PAIR)
            counts = self._counts(pc.struct_field(pairs, "name"))
            wanted = rows[counts]
            hashes[wanted] = hashes[wanted] * _FACTOR + _value_hash(
                pc.struct_field(pairs, "value").filter(pa.array(counts))
            )
            is_used[wanted] = True
            rest = pc.struct_field(pairs, "rest")
            has_more = pc.fill_null(pc.not_equal(rest, ""), fill_value=False)
            rows = rows[flags_of(has_more)]
            rest = rest.filter(has_more)
        if not is_used.all():
            # A key that names none of the columns counts whole.
            hashes[~is_used] = _FACTOR + java_string_hash(keys.filter(pa.array(~is_used)))
        return hashes

    def _old_parts(self, keys: pa.Array) -> Hashes:
        hashes: Hashes = np.ones(len(keys), dtype=np.uint32)
        # Java's split forgets empty parts at the end.
        rows, parts = _exploded(pc.split_pattern(pc.utf8_rtrim(keys, ","), ","))
        pairs = pc.split_pattern(parts, ":", max_splits=1)
        has_name = pc.greater(pc.list_value_length(pairs), 1)
        names = pc.list_element(pairs, 0)
        values = pc.if_else(has_name, _last_of(pairs), names)
        is_named = flags_of(has_name)
        counts = self._counts(names) | ~is_named
        part_hashes = np.where(is_named, _value_hash(values), java_string_hash(names))
        for at in _by_round(rows[counts]):
            chosen = np.flatnonzero(counts)[at]
            hashes[rows[chosen]] = hashes[rows[chosen]] * _FACTOR + part_hashes[chosen]
        return hashes

    def _counts(self, names: pa.Array) -> Flags:
        wanted = pa.array(self.fields, pa.string())
        return flags_of(pc.is_in(names, value_set=wanted))


def hash_that_fits(hashes: Sequence[BucketHash], samples: Sequence[tuple[str, int]]) -> int | None:
    """The first of some hashes that puts keys of a table where they are; None when none does.

    Shapes: ``samples`` has stored keys, each with the bucket that its file group's name states.
    """
    if not samples:
        return 0
    keys = pa.array([key for key, _ in samples], pa.string())
    stored = np.array([bucket for _, bucket in samples], dtype=np.int64)
    fitting = (n for n, each in enumerate(hashes) if np.array_equal(each.buckets_of(keys), stored))
    return next(fitting, None)


def _value_hash(values: pa.Array) -> Hashes:
    hashes = java_string_hash(values)
    stands_for_nothing = pa.array([NULL_PLACEHOLDER, EMPTY_PLACEHOLDER])
    hashes[flags_of(pc.is_in(values, value_set=stands_for_nothing))] = 0
    return hashes


def _exploded(lists: pa.ListArray) -> tuple[Buckets, pa.Array]:
    """Every element with the row it is in."""
    return pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists)


def _last_of(pairs: pa.ListArray) -> pa.Array:
    ends = pairs.offsets.to_numpy()[1:] - 1
    return pairs.values.take(pa.array(ends))


def _by_round(rows: Buckets) -> Iterator[Buckets]:
    """Positions of each row's first part, then of each row's second part, and so on.

    Shapes: ``rows`` ascending.
    """
    starts: Buckets = np.flatnonzero(np.diff(rows, prepend=-1))
    lengths = np.diff(np.append(starts, len(rows)))
    for number in range(int(lengths.max(initial=0))):
        yield starts[lengths > number] + number
