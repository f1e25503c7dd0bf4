"""Damaged log files: refused with a typed error, or read without the damaged block.

The format has no checksum of its own. What a frame says twice, lengths and magic, can be held
against itself; the instant in a header and the values of Avro records cannot. So it is told apart
where a byte lies:

* in a frame, but for the texts in its header: an error, or the rows of all other blocks, with those
  of the damaged one or without them, as they were written;
* in a header's text: an error, or the other blocks' rows; those of the damaged block can be gone;
* in a Parquet or an HFile block: as in a frame, since Hudi's pages have checksums, and so have the
  blocks of an HFile, and columns are named in the block's header too;
* in Avro records: an error, or rows; keys that the damaged block does not name are right.
"""

import random
from collections.abc import Mapping

import pyarrow as pa
import pytest

from pyhudi.errors import HudiError
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.reader import iter_blocks
from tests.support.damage import Piece, State, avro, gone, hfile, parquet, read, state_of
from tests.support.points import STEP

FIRST = avro("1", ("a", 1, "x"), ("b", 1, "x"))
LAST = avro("5", ("y", 5, None), ("z", 5, "z"))
OTHER = parquet("6", ("p", 6, "p"), ("q", 6, None))
DAMAGED = {
    "avro": avro("3", ("a", 2, "changed"), ("m", -3, None), ("n", 3, "näme")),
    "parquet": parquet("3", ("a", 2, "changed"), ("m", -3, None), ("n", 3, "näme")),
    "hfile": hfile("3", ("a", 2, "changed"), ("m", -3, None), ("n", 3, "näme")),
    "deletes": gone("3", "a", "n"),
}
FLIPS = (0x01, 0x80, 0x20, 0xFF)


def files_with(damaged: bytes) -> Mapping[str, bytes]:
    """Blocks before and after a damaged one in its file, and another file behind."""
    return {"first": FIRST.data + damaged + LAST.data, "second": OTHER.data}


def flipped(data: bytes, at: int, mask: int) -> bytes:
    damaged = bytearray(data)
    damaged[at] ^= mask
    return bytes(damaged)


def with_and_without(piece: Piece) -> tuple[State, State]:
    return state_of([FIRST, piece, LAST, OTHER]), state_of([FIRST, LAST, OTHER])


def are_others_whole(found: State, piece: Piece) -> bool:
    """Whether keys that the damaged block does not name have what the others say of them."""
    wanted = state_of([FIRST, LAST, OTHER])
    own = piece.changes.keys()
    return all(found.get(key) == value for key, value in wanted.items() if key not in own)


@pytest.fixture(params=DAMAGED.values(), ids=DAMAGED)
def piece(request: pytest.FixtureRequest) -> Piece:
    found: Piece = request.param
    return found


def test_whole_files_are_read_whole(piece: Piece) -> None:
    assert read(files_with(piece.data)) == with_and_without(piece)[0]


def test_a_file_cut_anywhere_has_the_blocks_before_the_cut_and_the_next_files(piece: Piece) -> None:
    edges = {*range(80), *range(len(piece.data) - 80, len(piece.data))}
    for length in sorted(edges | {*range(0, len(piece.data), 7)})[::STEP]:
        cut = {"first": FIRST.data + piece.data[:length], "second": OTHER.data}
        assert read(cut) == state_of([FIRST, OTHER]), length
        # A later writer goes on behind the torn block.
        assert read(files_with(piece.data[:length])) == with_and_without(piece)[1], length


def test_bytes_lost_within_a_block_lose_no_other(piece: Piece) -> None:
    chance = random.Random(1)
    for _ in range(0, 300, STEP):
        start = chance.randrange(1, len(piece.data))
        stop = min(len(piece.data), start + chance.randint(1, 40))
        damaged = piece.data[:start] + piece.data[stop:]
        found = read(files_with(damaged))
        assert found == with_and_without(piece)[1], (start, stop)


def test_whatever_byte_of_a_frame_is_flipped_no_wrong_row_is_read(piece: Piece) -> None:
    outside = [at for at in range(len(piece.data)) if at not in piece.content]
    for at in outside[::STEP]:
        for mask in FLIPS:
            found = read(files_with(flipped(piece.data, at, mask)))
            if isinstance(found, HudiError):
                continue
            if at in piece.values:
                assert are_others_whole(found, piece), (at, mask)
            else:
                assert found in with_and_without(piece), (at, mask)


def test_whatever_byte_of_a_content_is_flipped_other_rows_are_right(piece: Piece) -> None:
    chance = random.Random(2)
    for at in piece.telling[::STEP]:
        if at not in piece.content:
            continue
        for mask in (chance.choice(FLIPS), chance.randrange(1, 256)):
            found = read(files_with(flipped(piece.data, at, mask)))
            assert isinstance(found, HudiError) or are_others_whole(found, piece), (at, mask)


@pytest.mark.parametrize("kind", ["parquet", "hfile"])
def test_whatever_byte_with_a_checksum_is_flipped_no_wrong_row_is_read(kind: str) -> None:
    piece = DAMAGED[kind]
    chance = random.Random(3)
    told = 0
    content = [at for at in piece.telling if at in piece.content][::STEP]
    for at in content:
        for mask in (1 << chance.randrange(8), chance.randrange(1, 256)):
            found = read(files_with(flipped(piece.data, at, mask)))
            told += isinstance(found, HudiError)
            assert isinstance(found, HudiError) or found == with_and_without(piece)[0], (at, mask)
    assert told > len(content)


def test_the_neighbours_of_a_damaged_block_are_found_where_they_lie(piece: Piece) -> None:
    end = len(FIRST.data) + len(piece.data)
    for at in piece.telling[::STEP]:
        for bit in range(8):
            data = FIRST.data + flipped(piece.data, at, 1 << bit) + LAST.data
            source = pa.BufferReader(data)
            blocks = {block.offset: block for block in iter_blocks(source, "first")}
            for offset, whole in ((0, FIRST), (end, LAST)):
                block = blocks[offset]
                assert block.kind is BlockKind.AVRO, (at, bit)
                content = whole.data[whole.content.start : whole.content.stop]
                assert block.read(source) == content, (at, bit)


def test_random_damage_in_several_places_raises_nothing_but_typed_errors() -> None:
    chance = random.Random(7)
    pieces = [FIRST, *DAMAGED.values(), LAST, OTHER]
    for _ in range(0, 1_500, STEP):
        chosen = [chance.choice(pieces).data for _ in range(chance.randint(1, 5))]
        data = bytearray(b"".join(chosen))
        for _ in range(chance.randint(0, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        if chance.random() < 0.3:
            at = chance.randrange(len(data) + 1)
            data[at:at] = chance.randbytes(chance.randint(1, 50))
        found = read({"first": bytes(data), "second": OTHER.data})
        if not isinstance(found, HudiError):
            assert {key: found[key] for key in OTHER.changes} == OTHER.changes
