"""Record positions of log blocks, read by the letter of the format."""

import base64
import struct
from collections.abc import Iterator

from pyhudi.logfile.framing import HeaderKey
from pyhudi.logfile.reader import Block


def positions_in(block: Block) -> list[int] | None:
    """The row numbers that a block's header has, in their order; None where it has none."""
    text = block.header.get(HeaderKey.RECORD_POSITIONS)
    return None if text is None else decoded(text)


def base_instant_of(block: Block) -> str | None:
    """The instant of the base file whose rows a block's positions are."""
    return block.header.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS)


def decoded(text: str) -> list[int]:
    """The numbers of a text, ascending.

    Source: RoaringFormatSpec; Roaring64NavigableMap.serializePortable, RoaringBitmap 1.2.
    """
    data = base64.b64decode(text, validate=True)
    (count,), at, found = struct.unpack_from("<Q", data), 8, []
    for _ in range(count):
        (high,) = struct.unpack_from("<I", data, at)
        low, at = _bitmap(data, at + 4)
        found += [high << 32 | each for each in low]
    assert at == len(data)
    assert found == sorted(set(found))
    return found


def _bitmap(data: bytes, start: int) -> tuple[list[int], int]:
    (cookie,) = struct.unpack_from("<I", data, start)
    has_runs, at = cookie & 0xFFFF == 12347, start + 4
    if has_runs:
        count = (cookie >> 16) + 1
        flags = data[at : at + (count + 7) // 8]
        at += len(flags)
    else:
        assert cookie == 12346
        (count,) = struct.unpack_from("<I", data, at)
        flags, at = bytes((count + 7) // 8), at + 4
    keys = [struct.unpack_from("<HH", data, at + 4 * n) for n in range(count)]
    at += 4 * count
    offsets = None
    if not has_runs or count >= 4:
        offsets = struct.unpack_from(f"<{count}I", data, at)
        at += 4 * count
    found = []
    for number, (key, most) in enumerate(keys):
        assert offsets is None or at - start == offsets[number]
        is_run = flags[number // 8] >> number % 8 & 1
        low, at = _container(data, at, most + 1, is_run=bool(is_run))
        assert len(low) == most + 1
        found += [key << 16 | each for each in low]
    return found, at


def _container(data: bytes, at: int, count: int, *, is_run: bool) -> tuple[list[int], int]:
    if is_run:
        (runs,) = struct.unpack_from("<H", data, at)
        return list(_runs(data, at + 2, runs)), at + 2 + 4 * runs
    if count <= 4096:
        return list(struct.unpack_from(f"<{count}H", data, at)), at + 2 * count
    flags = data[at : at + 8192]
    return [n for n in range(1 << 16) if flags[n // 8] >> n % 8 & 1], at + 8192


def _runs(data: bytes, at: int, runs: int) -> Iterator[int]:
    for number in range(runs):
        first, more = struct.unpack_from("<HH", data, at + 4 * number)
        yield from range(first, first + more + 1)
