"""Which blocks count, by their headers alone."""

from typing import Any

import pytest

from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.reader import Block
from pyhudi.logfile.scan import blocks_that_count


def block(kind: BlockKind, **parts: Any) -> Block:
    return Block(kind=kind, **{"file": "f", "offset": 0, "size_bytes": 9, "version": 1, **parts})


def data(instant: str, compacted: str = "", kind: BlockKind = BlockKind.AVRO, **other) -> Block:
    header = {HeaderKey.INSTANT_TIME: instant}
    if compacted:
        header[HeaderKey.COMPACTED_BLOCK_TIMES] = compacted
    return block(kind, header=header, **other)


def rollback(target: str, command: str = "0") -> Block:
    header = {
        HeaderKey.INSTANT_TIME: "9",
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: command,
    }
    return block(BlockKind.COMMAND, header=header)


def instants(*blocks: Block, wanted: str = "123456789") -> str:
    found = blocks_that_count(blocks, lambda instant: instant in wanted)
    return "".join(block.instant for block in found)


PAIR = (data("1"), data("2"))
TORN = Block(file="f", offset=0, size_bytes=9, kind=BlockKind.CORRUPT, is_torn=True)
JOINED = (*PAIR, data("4", "1,2"))


@pytest.mark.parametrize(
    ("blocks", "counted"),
    [
        pytest.param([data("1"), data("3"), data("2")], "132", id="in_the_order_of_the_files"),
        pytest.param([*PAIR, data("1")], "112", id="of_one_write_where_its_first_is"),
        pytest.param([*PAIR, data("2"), rollback("2"), data("3")], "13", id="rolled_back"),
        pytest.param([data("1"), rollback("2"), rollback("2")], "1", id="none_is_rolled_back"),
        pytest.param([*PAIR, rollback("1"), data("1")], "21", id="rolled_back_and_made_again"),
        pytest.param([data("1"), TORN, data("2")], "12", id="torn_ones_stepped_over"),
        pytest.param([*PAIR, data("3"), JOINED[2]], "43", id="compacted_where_the_last_part_stood"),
        pytest.param([*JOINED, data("5")], "45", id="compacted_before_what_comes_later"),
        pytest.param([*JOINED, data("5"), data("6", "4, 5")], "6", id="compacted_more_than_once"),
        pytest.param([data("3"), JOINED[2], data("5")], "345", id="compacted_without_its_parts"),
        pytest.param([*JOINED, rollback("4"), data("5")], "125", id="compacted_and_rolled_back"),
        pytest.param(
            *([*JOINED, rollback("4"), data("6", "2,1"), data("5")], "65"), id="compacted_anew"
        ),
    ],
)
def test_blocks_count_in_their_order(blocks: list[Block], counted: str) -> None:
    assert instants(*blocks) == counted


def test_delete_blocks_count_like_blocks_of_rows() -> None:
    assert instants(data("1"), data("3"), data("2", kind=BlockKind.DELETE)) == "132"


def test_blocks_of_writes_that_are_not_wanted_are_left_out() -> None:
    assert instants(data("1"), data("2"), data("3"), wanted="13") == "13"
    assert instants(*JOINED, wanted="12") == "12", "a compaction leaves its parts"


@pytest.mark.parametrize(
    ("block", "error", "message"),
    [
        pytest.param(
            Block(file="f", offset=7, size_bytes=9, kind=BlockKind.CORRUPT, problem="it is odd"),
            CorruptTableError,
            "CORRUPT block at byte 7 of f cannot be read: it is odd",
            id="damaged",
        ),
        pytest.param(data("1", version=0), UnsupportedError, "log format version 0", id="version"),
        pytest.param(data("1", kind=BlockKind.CDC), UnsupportedError, "change data", id="cdc"),
        pytest.param(data(""), CorruptTableError, "of which write", id="no_instant"),
        pytest.param(rollback("1", "7"), UnsupportedError, "command '7'", id="command"),
        pytest.param(rollback(""), UnsupportedError, "COMMAND block", id="no_target"),
    ],
)
def test_what_cannot_be_read_is_refused(block: Block, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        blocks_that_count([block], lambda _: True)
