import random

import pyarrow as pa
import pytest
from pyarrow import orc

from pyhudi.basefile.orc.tail import Compression, file_tail, with_user_metadata, writer_zone
from pyhudi.basefile.protobuf import bytes_field
from pyhudi.errors import CorruptTableError, UnsupportedError

NOISE = random.Random(7).randbytes(5_000)
KINDS = {"none": 0, "zlib": 1, "snappy": 2, "lz4": 4, "zstd": 5}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("data", [b"", b"x", b"abc" * 5_000, NOISE], ids=len)
def test_parts_come_back(kind: int, data: bytes) -> None:
    compression = Compression(kind=kind, block_size=1_000)
    assert compression.decompress(compression.compress(data)) == data


def test_two_parts_in_a_row_are_one() -> None:
    compression = Compression(kind=KINDS["zlib"])
    both = compression.compress(b"a" * 999) + compression.compress(b"b")
    assert compression.decompress(both) == b"a" * 999 + b"b"


def test_a_damaged_part_is_refused() -> None:
    part = Compression(kind=KINDS["zlib"]).compress(b"abc" * 999)
    with pytest.raises(CorruptTableError, match="cannot be read"):
        Compression(kind=KINDS["zlib"]).decompress(part[:10] + b"\x00" * 20)
    with pytest.raises(UnsupportedError, match="compression 3"):
        Compression(kind=3).decompress(part)


@pytest.mark.parametrize("codec", ["uncompressed", *list(KINDS)[1:]])
def test_arrow_finds_what_was_added_to_a_footer(codec: str) -> None:
    content = _file(codec)
    pairs = {"ü": "späße 日本", "large": "v" * 600_000}
    changed = content[:100] + with_user_metadata(content[100:], pairs)
    file = orc.ORCFile(pa.BufferReader(changed))
    assert {k.decode(): v.decode() for k, v in file.metadata.items()} == pairs
    assert file.read()["n"].to_pylist() == list(range(50_000))
    twice = orc.ORCFile(pa.BufferReader(with_user_metadata(changed, {"more": ""})))
    assert len(twice.metadata) == 3


@pytest.mark.parametrize("tail", [b"", b"\x20", b"abc\x40"])
def test_what_ends_no_orc_file_is_refused(tail: bytes) -> None:
    with pytest.raises(CorruptTableError, match="ends before its postscript"):
        with_user_metadata(tail, {"a": "b"})


@pytest.mark.parametrize("codec", ["uncompressed", *list(KINDS)[1:]])
def test_stripes_and_the_zone_of_their_times_are_found(codec: str) -> None:
    content = _file(codec)
    tail = file_tail(orc.ORCFile(pa.BufferReader(content)).reader.serialized_file_tail())
    assert sum(stripe.rows for stripe in tail.stripes) == 50_000
    stripe = tail.stripes[-1]
    part = content[stripe.footer_offset : stripe.footer_offset + stripe.footer_length]
    # Arrow's writer notes GMT.
    assert b"GMT" in tail.compression.decompress(part)
    assert writer_zone(tail.compression.decompress(part)) is None


@pytest.mark.parametrize(
    ("zone", "name"), [("UTC", None), ("Europe/Berlin", "Europe/Berlin"), ("", None)]
)
def test_the_zone_of_a_writer(zone: str, name: str | None) -> None:
    assert writer_zone(bytes_field(1, b"stream") + bytes_field(3, zone.encode())) == name


def _file(codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    at = pa.array(range(50_000), pa.timestamp("us"))
    orc.write_table(pa.table({"n": range(50_000), "at": at}), sink, compression=codec)
    return sink.getvalue().to_pybytes()
