"""Which blocks count, by their headers alone."""

import pytest

from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.reader import Block
from pyhudi.logfile.scan import blocks_that_count


def data(instant: str, compacted: str = "", kind: BlockKind = BlockKind.AVRO, **other) -> Block:
    header = {HeaderKey.INSTANT_TIME: instant}
    if compacted:
        header[HeaderKey.COMPACTED_BLOCK_TIMES] = compacted
    parts = {"file": "f", "offset": 0, "size_bytes": 9, "version": 1, **other}
    return Block(kind=kind, header=header, **parts)


def rollback(target: str, command: str = "0") -> Block:
    header = {
        HeaderKey.INSTANT_TIME: "9",
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: command,
    }
    return Block(file="f", offset=0, size_bytes=9, version=1, kind=BlockKind.COMMAND, header=header)


def torn() -> Block:
    return Block(file="f", offset=0, size_bytes=9, kind=BlockKind.CORRUPT, is_torn=True)


def instants(*blocks: Block, wanted: str = "123456789") -> str:
    found = blocks_that_count(blocks, lambda instant: instant in wanted)
    return "".join(block.instant for block in found)


def test_blocks_come_in_the_order_of_the_files() -> None:
    assert instants(data("1"), data("3"), data("2", kind=BlockKind.DELETE)) == "132"


def test_blocks_of_one_write_stand_where_its_first_is() -> None:
    assert instants(data("1"), data("2"), data("1")) == "112"


def test_blocks_of_writes_that_are_not_wanted_are_left_out() -> None:
    assert instants(data("1"), data("2"), data("3"), wanted="13") == "13"


def test_a_rollback_takes_the_blocks_before_it() -> None:
    assert instants(data("1"), data("2"), data("2"), rollback("2"), data("3")) == "13"


def test_a_rollback_of_what_is_not_there_takes_nothing() -> None:
    assert instants(data("1"), rollback("2"), rollback("2")) == "1"


def test_a_write_that_was_rolled_back_and_made_again_counts() -> None:
    assert instants(data("1"), data("2"), rollback("1"), data("1")) == "21"


def test_torn_blocks_are_stepped_over() -> None:
    assert instants(data("1"), torn(), data("2")) == "12"


def test_a_compacted_block_stands_where_the_last_of_its_parts_stood() -> None:
    assert instants(data("1"), data("2"), data("3"), data("4", "1,2")) == "43"
    assert instants(data("1"), data("2"), data("4", "1,2"), data("5")) == "45"


def test_blocks_are_compacted_more_than_once() -> None:
    assert instants(data("1"), data("2"), data("4", "1,2"), data("5"), data("6", "4, 5")) == "6"


def test_a_compacted_block_without_its_parts_stands_where_it_is() -> None:
    assert instants(data("3"), data("4", "1,2"), data("5")) == "345"


def test_a_compacted_block_that_is_rolled_back_leaves_its_parts() -> None:
    compacted = (data("1"), data("2"), data("4", "1,2"), rollback("4"))
    assert instants(*compacted, data("5")) == "125"
    assert instants(*compacted, data("6", "2,1"), data("5")) == "65"


def test_a_compaction_that_is_not_wanted_leaves_its_parts() -> None:
    assert instants(data("1"), data("2"), data("4", "1,2"), wanted="12") == "12"


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


def test_blocks_with_parts_of_rows_are_refused() -> None:
    block = data("1")
    header = {**block.header, HeaderKey.IS_PARTIAL: "true"}
    partial = Block(file="f", offset=0, size_bytes=9, kind=block.kind, version=1, header=header)
    with pytest.raises(UnsupportedError, match="parts of rows"):
        blocks_that_count([partial], lambda _: True)
