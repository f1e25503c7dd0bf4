"""Blocks found in files, whole and damaged ones."""

import contextlib
import random

import pyarrow as pa
import pytest

from pyhudi.errors import HudiError, UnsupportedError
from pyhudi.logfile.contents import iter_rows, read_deletes
from pyhudi.logfile.framing import MAGIC, BlockKind, HeaderKey, encode_block
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.logfile.scan import blocks_that_count
from tests.support.golden import golden_names
from tests.support.log_files import (
    avro_block,
    avro_content,
    delete_block,
    golden_logs,
    rollback_block,
    rows,
)

FIRST = avro_block("1", rows(("a", 1, "x"), ("b", 2, None)))
SECOND = delete_block("2", "a")
THIRD = avro_block("3", rows(("c", 3, "z")))


def blocks_of(data: bytes) -> list[Block]:
    return list(iter_blocks(pa.BufferReader(data), "a.log"))


def whole_at(data: bytes) -> dict[int, BlockKind]:
    return {b.offset: b.kind for b in blocks_of(data) if b.kind is not BlockKind.CORRUPT}


def test_blocks_come_in_file_order_with_their_contents_unread() -> None:
    data = FIRST + SECOND + rollback_block("4", "1")
    found = blocks_of(data)
    assert [block.kind for block in found] == [BlockKind.AVRO, BlockKind.DELETE, BlockKind.COMMAND]
    assert [block.instant for block in found] == ["1", "2", "4"]
    source = pa.BufferReader(data)
    assert found[0].read(source) == avro_content(rows(("a", 1, "x"), ("b", 2, None)))
    assert [each.num_rows for each in iter_rows(found[0], source)] == [2]
    assert read_deletes(found[1], source).keys.to_pylist() == ["a"]


def test_an_empty_file_has_no_blocks() -> None:
    assert blocks_of(b"") == []


def test_a_header_longer_than_one_read_is_found() -> None:
    text = "x" * 300_000
    data = encode_block(BlockKind.AVRO, {HeaderKey.INSTANT_TIME: "1", HeaderKey.SCHEMA: text}, b"")
    (block,) = blocks_of(data)
    assert block.header[HeaderKey.SCHEMA] == text


@pytest.mark.parametrize("name", golden_names("v6_mor_"))
def test_blocks_of_hudi_are_encoded_to_the_same_bytes(name: str) -> None:
    for path in golden_logs(name):
        data = path.read_bytes()
        source = pa.BufferReader(data)
        found = list(iter_blocks(source, path.name))
        assert all(block.kind is not BlockKind.CORRUPT for block in found)
        again = (encode_block(each.kind, each.header, each.read(source)) for each in found)
        assert b"".join(again) == data


@pytest.mark.parametrize("length", range(len(FIRST + SECOND + THIRD)))
def test_a_file_cut_anywhere_has_the_blocks_before_the_cut(length: int) -> None:
    data = FIRST + SECOND + THIRD
    whole = {0: BlockKind.AVRO, len(FIRST): BlockKind.DELETE, len(FIRST + SECOND): BlockKind.AVRO}
    ends = {0: len(FIRST), len(FIRST): len(FIRST + SECOND), len(FIRST + SECOND): len(data)}
    found = blocks_of(data[:length])
    assert whole_at(data[:length]) == {at: kind for at, kind in whole.items() if ends[at] <= length}
    assert sum(block.size_bytes for block in found) == length
    assert all(block.is_torn for block in found if block.kind is BlockKind.CORRUPT)


def test_whatever_byte_of_a_frame_is_flipped_its_neighbours_are_found() -> None:
    content = avro_content(rows(("c", 3, "z")))
    damaged = encode_block(BlockKind.AVRO, {HeaderKey.INSTANT_TIME: "2"}, content)
    before, after = 0, len(FIRST) + len(damaged)
    for at in range(len(damaged)):
        for bit in range(8):
            flipped = bytearray(damaged)
            flipped[at] ^= 1 << bit
            found = whole_at(FIRST + bytes(flipped) + THIRD)
            assert found[before] is BlockKind.AVRO, (at, bit)
            assert found[after] is BlockKind.AVRO, (at, bit)


def test_rubbish_between_blocks_is_stepped_over() -> None:
    found = blocks_of(FIRST + b"rubbish" + THIRD)
    assert [(block.kind, block.is_torn) for block in found] == [
        (BlockKind.AVRO, False),
        (BlockKind.CORRUPT, True),
        (BlockKind.AVRO, False),
    ]
    assert found[1].problem == "it does not begin as a block"


def test_the_end_of_rubbish_that_makes_a_magic_hides_no_block() -> None:
    data = FIRST + b"rubbish#HUDI" + THIRD
    assert whole_at(data) == {0: BlockKind.AVRO, len(data) - len(THIRD): BlockKind.AVRO}


def test_a_torn_block_reaches_to_the_next_magic_however_far() -> None:
    torn = encode_block(BlockKind.AVRO, {HeaderKey.INSTANT_TIME: "1"}, b"z" * (3 << 20))[:-20]
    found = blocks_of(torn + THIRD)
    assert [block.offset for block in found] == [0, len(torn)]
    assert found[0].size_bytes == len(torn)


@pytest.mark.parametrize("after", [b"", THIRD])
def test_a_block_of_the_oldest_format_is_whole_and_refused(after: bytes) -> None:
    body = b"\0" * 4 + b"\0\0\0\3" + (90).to_bytes(8, "big") + b"z" * 90
    data = FIRST + MAGIC + len(body).to_bytes(8, "big") + body + after
    found = blocks_of(data)
    assert [block.version for block in found] == [1, 0, *([1] if after else [])]
    with pytest.raises(UnsupportedError, match=r"of a\.log has the log format version 0"):
        blocks_that_count(found, lambda _: True)


def test_a_magic_within_a_whole_block_begins_none() -> None:
    data = encode_block(BlockKind.PARQUET, {HeaderKey.INSTANT_TIME: "1"}, MAGIC * 3) + THIRD
    assert [block.kind for block in blocks_of(data)] == [BlockKind.PARQUET, BlockKind.AVRO]


@pytest.mark.parametrize(
    "name", ["v6_mor_logs_avro", "v6_mor_logs_parquet", "v6_mor_hfile_logs", "v6_mor_rollback"]
)
def test_damaged_files_of_hudi_raise_nothing_but_typed_errors(name: str) -> None:
    chance = random.Random(name)
    files = [path.read_bytes() for path in golden_logs(name)]
    for _ in range(300):
        data = bytearray(chance.choice(files))
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        cut = chance.choice([len(data), chance.randrange(len(data))])
        source = pa.BufferReader(bytes(data[:cut]))
        found = list(iter_blocks(source, "a.log"))
        assert sum(block.size_bytes for block in found) == cut
        for block in found:
            with contextlib.suppress(HudiError):
                if block.kind is BlockKind.DELETE:
                    read_deletes(block, source)
                elif block.kind is not BlockKind.CORRUPT:
                    list(iter_rows(block, source))
