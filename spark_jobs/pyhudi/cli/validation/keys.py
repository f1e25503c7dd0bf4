"""Record keys that a partition holds more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.keys.key_hash import key_hash

Hashes = npt.NDArray[np.uint64]
ReadKeys = Callable[[str], Iterator[pa.ChunkedArray]]
"""The record keys of the file group of a name, some at a time."""

_EXAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedKeys:
    """Keys that are there more than once: how many, some of them, and where one of these is."""

    count: int
    examples: tuple[str, ...]
    places: tuple[str, ...]


def hashes_of(keys: Iterator[pa.ChunkedArray]) -> Hashes:
    """The hashes of the record keys of a file group.

    Units: eight bytes a row.
    """
    parts = [key_hash(each) for each in keys]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def repeated_keys(groups: Mapping[str, Hashes], read_keys: ReadKeys) -> RepeatedKeys | None:
    """The keys that the file groups of a partition hold more than once; None when there is none.

    Only file groups with hashes that come twice are read again, to tell keys from mere hashes.
    """
    everything = np.concatenate([*groups.values(), np.empty(0, dtype=np.uint64)])
    everything.sort()
    twice = np.unique(everything[1:][everything[1:] == everything[:-1]])
    if not len(twice):
        return None
    suspects = [name for name, hashes in groups.items() if np.isin(hashes, twice).any()]
    places: dict[str, list[str]] = defaultdict(list)
    found = [
        (name, keys.filter(pa.array(np.isin(key_hash(keys), twice))))
        for name in suspects
        for keys in read_keys(name)
    ]
    chunks = [chunk for _, keys in found for chunk in keys.chunks]
    counted = pc.value_counts(pa.chunked_array(chunks, pa.string()))
    more = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
    if not len(more):
        return None
    examples = tuple(str(key) for key in more[:_EXAMPLES].to_pylist())
    for name, keys in found:
        if pc.any(pc.equal(keys, examples[0])).as_py():
            places[examples[0]].append(name)
    return RepeatedKeys(count=len(more), examples=examples, places=_once(places[examples[0]]))


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
