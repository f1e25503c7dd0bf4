"""Where the records of a log block lie in the base file below it, as the block's header says. Pure.

Source: LogReaderUtils.encodePositions, Hudi 1.0 and 1.1; Roaring64NavigableMap.serializePortable
and RoaringFormatSpec, RoaringBitmap 1.2 (a set of numbers: for each value of their upper 32 bits a
bitmap, which for each value of the next 16 bits has a container of the lowest 16 bits).
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from pyhudi.logfile.framing import HeaderKey
from pyhudi.schema.columns import Positions

_COOKIE: Final = 12346
_COOKIE_WITH_RUNS: Final = 12347
_MOST_IN_ARRAY: Final = 4096
_BITMAP_BYTES: Final = 8192
_FEWEST_OFFSETS: Final = 4
"""A bitmap with runs and fewer containers than these does not say where they begin."""


def position_headers(positions: Positions, base_instant: str) -> dict[int, str]:
    """What a block's header says of the rows of the base file, of an instant, that it changes.

    Shapes: as ``encode_positions``, in the order of the block's records.
    """
    return {
        HeaderKey.RECORD_POSITIONS: encode_positions(positions),
        HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS: base_instant,
    }


def encode_positions(positions: Positions) -> str:
    """The text of the header for the row numbers of a block's records.

    Shapes: ``positions`` ascending, each once, none negative.
    """
    parts = [
        struct.pack("<I", high) + _bitmap(low.astype(np.uint32)) for high, low in _by(positions, 32)
    ]
    return base64.b64encode(struct.pack("<Q", len(parts)) + b"".join(parts)).decode("ascii")


def _by(numbers: npt.NDArray[np.integer], bits: int) -> Iterator[tuple[int, Positions]]:
    """The lower bits of ascending numbers, apart for each value of the others."""
    upper, lower = numbers >> bits, numbers & ((1 << bits) - 1)
    starts = np.flatnonzero(np.append([True], upper[1:] != upper[:-1]))
    for start, part in zip(starts.tolist(), np.split(lower, starts[1:]), strict=True):
        yield int(upper[start]), part


def _bitmap(numbers: npt.NDArray[np.uint32]) -> bytes:
    found = [(key, low, *_container(low.astype("<u2"))) for key, low in _by(numbers, 16)]
    count, has_runs = len(found), any(is_run for *_, is_run in found)
    keys = [struct.pack("<HH", key, len(low) - 1) for key, low, *_ in found]
    if has_runs:
        head = struct.pack("<I", _COOKIE_WITH_RUNS | (count - 1) << 16)
        head += np.packbits([is_run for *_, is_run in found], bitorder="little").tobytes()
    else:
        head = struct.pack("<II", _COOKIE, count)
    head += b"".join(keys)
    if not has_runs or count >= _FEWEST_OFFSETS:
        sizes = [len(data) for *_, data, _ in found]
        offsets = len(head) + 4 * count + np.cumsum([0, *sizes[:-1]])
        head += offsets.astype("<u4").tobytes()
    return head + b"".join(data for *_, data, _ in found)


def _container(numbers: npt.NDArray[np.uint16]) -> tuple[bytes, bool]:
    """The bytes of a container, and whether it has runs: what is smallest, and no runs of two."""
    ends = np.flatnonzero(np.append(numbers[1:] != numbers[:-1] + 1, [True]))
    starts = np.append([0], ends[:-1] + 1)
    is_array = len(numbers) <= _MOST_IN_ARRAY
    if (2 * len(numbers) if is_array else _BITMAP_BYTES) > 2 + 4 * len(starts):
        runs = np.column_stack([numbers[starts], (ends - starts).astype("<u2")])
        return struct.pack("<H", len(starts)) + runs.astype("<u2").tobytes(), True
    if is_array:
        return numbers.tobytes(), False
    flags = np.zeros(1 << 16, dtype=bool)
    flags[numbers] = True
    return np.packbits(flags, bitorder="little").tobytes(), False
