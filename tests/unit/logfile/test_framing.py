"""The bytes of a block's frame."""

import pytest

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.framing import PREFIX_BYTES, BlockKind, HeaderKey, decode_header, encode_block

BLOCK = encode_block(BlockKind.COMMAND, {HeaderKey.INSTANT_TIME: "1"}, b"abc")
SIZE = len(BLOCK) - PREFIX_BYTES


def test_a_frame_is_what_hudi_writes() -> None:
    assert BLOCK.hex() == (
        "234855444923"  # the magic
        "000000000000002c"  # the size of what follows
        "0000000100000000"  # version and kind
        "00000001000000000000000131"  # one header entry
        "0000000000000003616263"  # the content
        "00000000"  # no footer entries
        "0000000000000032"  # the size with the magic
    )


def test_both_sizes_count_the_trailing_one() -> None:
    assert int.from_bytes(BLOCK[6:14], "big") == len(BLOCK) - 14
    assert int.from_bytes(BLOCK[-8:], "big") == len(BLOCK) - 8


def test_a_header_is_read_back() -> None:
    header = decode_header(BLOCK, SIZE)
    assert header is not None
    assert (header.version, header.kind, dict(header.entries)) == (1, 0, {0: "1"})
    assert BLOCK[header.length : header.length + header.content_bytes] == b"abc"


@pytest.mark.parametrize("length", range(len(BLOCK) - SIZE, 47))
def test_of_too_few_bytes_more_are_asked_for(length: int) -> None:
    header_end = len(BLOCK) - 3 - 4 - 8
    assert (decode_header(BLOCK[:length], SIZE) is None) == (length < header_end)


@pytest.mark.parametrize(
    ("at", "byte", "message"),
    [
        pytest.param(22, 0xFF, "header or footer entries", id="count"),
        pytest.param(30, 0x7F, "entry 0 is", id="entry_length"),
        pytest.param(35, 0x7F, "content of", id="content_length"),
        pytest.param(42, 0x09, "content of 9 bytes", id="content_too_long"),
    ],
)
def test_a_senseless_header_is_refused(at: int, byte: int, message: str) -> None:
    damaged = BLOCK[:at] + bytes([byte]) + BLOCK[at + 1 :]
    with pytest.raises(CorruptTableError, match=message):
        decode_header(damaged, SIZE)
