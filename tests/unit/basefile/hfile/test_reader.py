"""HFiles: of Hudi, and made by hand."""

import random
import struct

import pytest

from pyhudi.basefile.hfile.reader import open_hfile
from pyhudi.basefile.protobuf import bytes_field
from pyhudi.errors import CorruptTableError, HudiError, UnsupportedError
from pyhudi.logfile.framing import BlockKind, HeaderKey
from tests.support import hfiles
from tests.support.hfiles import CRC32, CRC32C, GZ, NO_CHECKSUM, NONE, Entry, block, entry, hfile
from tests.support.hfiles import entries_of as read
from tests.support.log_files import golden_blocks

ENTRIES: list[Entry] = [(b"a", b"one"), (b"b", b""), ("ß".encode(), b"three")]
OTHERS: list[Entry] = [(b"k" * 300, b"x" * 70_000)]
CHECKSUMS = pytest.mark.parametrize("checksum", [NO_CHECKSUM, CRC32, CRC32C])
CODECS = pytest.mark.parametrize("codec", [NONE, GZ])


@CODECS
@CHECKSUMS
def test_entries_come_block_by_block(codec: int, checksum: int) -> None:
    assert read(hfile([ENTRIES, OTHERS], codec=codec, checksum=checksum)) == [ENTRIES, OTHERS]


def test_an_hfile_without_entries_has_none() -> None:
    assert read(hfile([])) == []


def test_blocks_of_indexes_and_filters_are_passed_by() -> None:
    between = [(magic, b"of no matter") for magic in (b"IDXLEAF2", b"BLMFBLK2", b"IDXINTE2")]
    blocks = [ENTRIES, *between, OTHERS, (b"METABLKc", b"bloom filter")]
    assert read(hfile(blocks, numbers={8: 3})) == [ENTRIES, OTHERS]


def test_what_an_hfile_says_of_itself_is_found() -> None:
    assert open_hfile(hfile([ENTRIES], "{}")).info == {b"schema": b"{}"}


def test_hfiles_of_hudi_are_read_with_their_checksums_held_against_them() -> None:
    found = 0
    for log_block, content in golden_blocks("v6_mor_hfile_logs", BlockKind.HFILE):
        assert content[24] == CRC32C
        file = open_hfile(content)
        assert file.info[b"schema"].decode() == log_block.header[HeaderKey.SCHEMA]
        keys = [key for part in read(content) for key, _ in part]
        assert keys == sorted(keys)
        assert len(keys) == file.entry_count
        found += len(keys)
    assert found > 20


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(hfile([ENTRIES], numbers={12: 4}), "with LZ4; only GZ and NONE", id="codec"),
        pytest.param(hfile([(b"DATABLKE", b"\0\1")]), "encoded data blocks", id="encoded"),
        pytest.param(hfile([])[:-1] + b"\x02", "has the version 2", id="version"),
        pytest.param(
            hfile([])[: -hfiles.TRAILER_BYTES] + hfiles.trailer({}, bytes_field(13, b"key")),
            "encrypted",
            id="encrypted",
        ),
    ],
)
def test_what_is_not_read_is_named(content: bytes, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        read(content)


def one_block(data: bytes) -> bytes:
    """An HFile whose one data block has some data."""
    return hfile([(b"DATABLK*", data)], numbers={7: 1})


def in_header(at: int, value: int, content: bytes | None = None) -> bytes:
    """An HFile without checksums, and another number in its first header."""
    content = content or hfile([ENTRIES], checksum=NO_CHECKSUM)
    return content[:at] + struct.pack(">i", value) + content[at + 4 :]


WHOLE = entry(b"key", b"value")
PACKED = hfile([ENTRIES], codec=GZ, checksum=NO_CHECKSUM)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "no trailer", id="empty"),
        pytest.param(hfile([ENTRIES])[:-1], "no trailer", id="cut"),
        pytest.param(hfile([ENTRIES], numbers={12: 9}), "codec 9", id="codec"),
        pytest.param(hfile([ENTRIES], numbers={7: 2}), "3 entries and says 2", id="count"),
        pytest.param(hfile([ENTRIES], numbers={1: 0}), "say of itself", id="info_elsewhere"),
        pytest.param(hfile([ENTRIES], numbers={1: 1 << 60}), "header of a block", id="info_beyond"),
        pytest.param(hfile([ENTRIES], numbers={2: 40}), "bytes long", id="data_end_early"),
        pytest.param(hfile([ENTRIES], numbers={2: 1 << 60}), "IDXROOT2", id="data_end_late"),
        pytest.param(hfile([(b"NONSENSE", b"")]), "NONSENSE", id="magic"),
        pytest.param(in_header(8, -1), "-1 bytes long", id="negative_size"),
        pytest.param(in_header(8, 1 << 30), "bytes long", id="large_size"),
        pytest.param(in_header(12, 5), "not 5", id="unpacked_size"),
        pytest.param(in_header(25, 0), "bytes long", id="no_chunk"),
        pytest.param(in_header(25, 64), "bytes of checksums", id="small_chunks"),
        pytest.param(in_header(29, 32), "bytes long", id="summed_size"),
        pytest.param(in_header(12, 5, PACKED), "not as long", id="packed_and_longer"),
        pytest.param(in_header(12, -5, PACKED), "not as long", id="packed_and_negative"),
        pytest.param(in_header(12, 9000, PACKED), "not 9000", id="packed_and_shorter"),
        pytest.param(in_header(33, 0, PACKED), "cannot be unpacked", id="no_gzip"),
        pytest.param(hfile([ENTRIES], checksum=3), "unknown type 3", id="checksum_type"),
        pytest.param(one_block(WHOLE[:-1]), "end at byte", id="entry_cut"),
        pytest.param(one_block(WHOLE + b"\0"), "end at byte", id="entry_and_more"),
        pytest.param(one_block(WHOLE[:-1] + b"\1"), "contradicts", id="version_of_an_entry"),
        pytest.param(one_block(struct.pack(">ii", 11, 0) + bytes(12)), "key of 11", id="short_key"),
        pytest.param(one_block(struct.pack(">ii", 12, -1) + bytes(12)), "of -1", id="no_value"),
        pytest.param(one_block(WHOLE.replace(b"\3key", b"\2key")), "contradicts", id="row_length"),
        pytest.param(one_block(WHOLE.replace(b"\4", b"\x08")), "none of a Hudi", id="deleted"),
        pytest.param(
            hfile([ENTRIES]).replace(b"PBUF", b"PBOF"), "other bytes than when", id="sums"
        ),
        pytest.param(
            hfile([ENTRIES], checksum=NO_CHECKSUM).replace(b"PBUF", b"PBOF"),
            "says nothing of itself",
            id="info_magic",
        ),
    ],
)
def test_damage_is_told(content: bytes, message: str) -> None:
    with pytest.raises(CorruptTableError, match=message):
        read(content)


@CODECS
@pytest.mark.parametrize("checksum", [CRC32, CRC32C])
def test_whatever_bit_is_flipped_no_wrong_entry_is_read(codec: int, checksum: int) -> None:
    content = hfile([ENTRIES, ENTRIES], "{}", codec=codec, checksum=checksum)
    blank = len(content) - hfiles.TRAILER_BYTES + 100
    told = 0
    for at in (*range(blank), *range(len(content) - 4, len(content))):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[at] ^= 1 << bit
            try:
                assert read(bytes(damaged)) == [ENTRIES, ENTRIES], (at, bit)
            except HudiError:
                told += 1
    assert told > 7 * (blank - 100 - 2 * len(block(b"", b"")))


@pytest.mark.parametrize("codec", [NONE, GZ])
def test_damage_in_several_places_raises_nothing_but_typed_errors(codec: int) -> None:
    chance = random.Random(codec)
    content = hfile([ENTRIES, ENTRIES], "{}", codec=codec, checksum=NO_CHECKSUM)
    blank = len(content) - hfiles.TRAILER_BYTES + 100
    for _ in range(2_000):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(blank)] = chance.randrange(256)
        try:
            read(bytes(damaged))
        except HudiError:
            continue
