"""HFiles as they are written: what is read from them, and their layout beside Hudi's."""

import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.basefile.hfile import writer
from pyhudi.basefile.hfile.reader import open_hfile
from pyhudi.basefile.hfile.writer import Codec, HFileForm, write_hfile
from pyhudi.errors import InvariantError, UnsupportedError
from tests.support.golden import golden_table
from tests.support.hfiles import (
    TRAILER_BYTES,
    Entry,
    block_at,
    entries_of,
    index_entries,
    meta_of,
)
from tests.support.hfiles import said_at_the_end as trailer

ENTRIES: list[Entry] = [
    (f"k{number:03}".encode() + b"x" * (number % 7), b"v" * (number % 5)) for number in range(40)
]
CODECS = pytest.mark.parametrize("codec", list(Codec))
KEY_BEFORE = 2
KEY_BEHIND = 10


def written(
    entries: list[Entry],
    form: HFileForm | None = None,
    info: Mapping[bytes, bytes] | None = None,
    meta: Mapping[bytes, bytes] | None = None,
) -> bytes:
    """The bytes of an HFile."""
    sink = io.BytesIO()
    write_hfile(sink, entries, info=info or {}, meta=meta, form=form)
    return sink.getvalue()


def flat(content: bytes) -> list[Entry]:
    """All entries of an HFile."""
    return [each for block in entries_of(content) for each in block]


def data_index(content: bytes) -> list[tuple[int, int, bytes]]:
    """The index of the data blocks."""
    magic, data, _ = block_at(content, trailer(content)[2])
    assert magic == b"IDXROOT2"
    return list(index_entries(data))


@settings(max_examples=200, deadline=None)
@given(
    values=st.dictionaries(st.binary(max_size=40), st.binary(max_size=300), max_size=60),
    block_bytes=st.integers(1, 2_000),
    codec=st.sampled_from(Codec),
)
def test_what_is_written_is_read(
    values: dict[bytes, bytes], block_bytes: int, codec: Codec
) -> None:
    entries = sorted(values.items())
    content = written(entries, HFileForm(block_bytes=block_bytes, codec=codec), {b"a": b"b"})
    assert flat(content) == entries
    assert open_hfile(content).info[b"a"] == b"b"


@CODECS
def test_with_every_size_of_a_block_its_first_key_is_in_the_index(codec: Codec) -> None:
    """From an entry a block to all entries in one, so each key begins a block once and ends one."""
    begun, ended, counts = set(), set(), set()
    for block_bytes in range(1, 1_800):
        form = HFileForm(block_bytes=block_bytes, codec=codec)
        if codec is Codec.GZ and block_bytes % 20:
            continue
        content = written(ENTRIES, form)
        blocks = entries_of(content)
        index = data_index(content)
        assert [each for block in blocks for each in block] == ENTRIES
        assert [key[KEY_BEFORE:-KEY_BEHIND] for *_, key in index] == [b[0][0] for b in blocks]
        assert [at for at, *_ in index][1:] == [at + size for at, size, _ in index][:-1]
        assert all(block_at(content, at)[0] == b"DATABLK*" for at, *_ in index)
        begun |= {block[0][0] for block in blocks}
        ended |= {block[-1][0] for block in blocks}
        counts.add(len(blocks))
    assert begun == ended == {key for key, _ in ENTRIES}
    assert {1, len(ENTRIES)} <= counts


def test_blocks_name_the_one_before_of_their_kind() -> None:
    content = written(ENTRIES, HFileForm(block_bytes=100), meta={b"b": b"2", b"a": b"1"})
    places = [at for at, *_ in data_index(content)]
    assert [block_at(content, at)[2] for at in places] == [-1, *places[:-1]]
    said = trailer(content)
    assert (said[5], said[7], said[8], said[9]) == (len(places), len(ENTRIES), 1, 0)
    assert said[10] == places[-1]


@CODECS
def test_what_a_file_holds_beside_its_entries_is_found_by_name(codec: Codec) -> None:
    meta = {b"bloomFilter": b"text" * 9_000, b"another": b""}
    content = written(ENTRIES, HFileForm(codec=codec), meta=meta)
    assert trailer(content)[6] == 2
    assert meta_of(content) == meta
    assert flat(content) == ENTRIES


def test_what_every_file_says_of_itself_is_there() -> None:
    content = written([(b"key", b"value"), (b"longer", b"v")], HFileForm(created_ms=17))
    assert open_hfile(content).info == {
        b"KEY_VALUE_VERSION": struct.pack(">i", 1),
        b"MAX_MEMSTORE_TS_KEY": bytes(8),
        b"hfile.AVG_KEY_LEN": struct.pack(">i", (15 + 18) // 2),
        b"hfile.AVG_VALUE_LEN": struct.pack(">i", 3),
        b"hfile.CREATE_TIME_TS": struct.pack(">q", 17),
        b"hfile.LASTKEY": b"\0\6longer\0\x7f" + b"\xff" * 7 + b"\4",
    }


def test_an_hfile_of_nothing_has_no_last_key() -> None:
    content = written([])
    assert flat(content) == []
    assert b"hfile.LASTKEY" not in open_hfile(content).info


@pytest.mark.parametrize("folder", [".partitions", ".fileids"])
@pytest.mark.parametrize("table", ["v6_cow_bootstrap", "v6_mor_bootstrap"])
def test_what_hudi_wrote_is_written_again_byte_for_byte(
    table: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the class that compares keys, of which Hudi has one for bootstraps alone."""
    (path,) = (golden_table(table) / ".hoodie/.aux/.bootstrap" / folder).glob("*.hfile")
    hudis = path.read_bytes()
    own = b"org.apache.hudi.common.bootstrap.index.HFileBootstrapIndex$HoodieKVComparator"
    assert own in hudis
    monkeypatch.setattr(writer, "_COMPARATOR", own)
    info = {b"INDEX_INFO": open_hfile(hudis).info[b"INDEX_INFO"]}
    assert written(flat(hudis), info=info) == hudis


def test_packed_blocks_are_those_of_hudi_when_unpacked() -> None:
    """Gzip of Java packs the same bytes otherwise, so blocks lie elsewhere."""
    (path,) = (golden_table("v6_cow_bootstrap") / ".hoodie/metadata").rglob("*.hfile")
    hudis = path.read_bytes()
    said = open_hfile(hudis).info
    extra = {name: value for name, value in said.items() if name == b"schema" or b"Key" in name[:9]}
    ours = written(flat(hudis), HFileForm(block_bytes=1 << 20, codec=Codec.GZ), extra)
    assert flat(ours) == flat(hudis)
    for number in (5, 7, 8, 9, 10, 12):
        assert trailer(ours)[number] == trailer(hudis)[number]
    for name in (b"hfile.LASTKEY", b"hfile.AVG_KEY_LEN", b"hfile.AVG_VALUE_LEN", *extra):
        assert open_hfile(ours).info[name] == said[name]


@pytest.mark.parametrize(
    ("value", "digits"),
    [
        *((0, "00"), (127, "7f"), (128, "8f80"), (200, "8fc8"), (255, "8fff")),
        *((256, "8e0100"), (300, "8e012c"), (70_000, "8d011170")),
    ],
)
def test_lengths_are_numbers_of_hadoop(value: int, digits: str) -> None:
    """Of those below 128 the number that protocol buffers have is the same; of others it is not."""
    keys = [] if value > (1 << 15) - 13 or value < 13 else [b"k" * (value - 12)]
    for key in keys:
        (entry,) = data_index(written([(key, b"")]))
        assert entry[2] == struct.pack(">H", len(key)) + key + b"\0\x7f" + b"\xff" * 7 + b"\4"
    assert writer._hadoop_number(value).hex() == digits


def test_a_block_is_written_before_the_next_one_is_asked_for() -> None:
    sink = io.BytesIO()
    most = 0

    def entries() -> Iterator[Entry]:
        nonlocal most
        for number in range(1_000):
            most = max(most, number * 100 - sink.tell())
            yield f"{number:05}".encode(), b"v" * 100

    write_hfile(sink, entries(), info={}, form=HFileForm(block_bytes=2_000))
    assert most < 2_000
    assert len(flat(sink.getvalue())) == 1_000


@pytest.mark.parametrize("second", [b"a", b"b"])
def test_keys_have_to_ascend(second: bytes) -> None:
    with pytest.raises(InvariantError, match="comes after b'b'"):
        written([(b"b", b""), (second, b"")])


def test_a_key_is_no_longer_than_its_length_can_say() -> None:
    longest = b"k" * 32_767
    assert flat(written([(longest, b"v")])) == [(longest, b"v")]
    with pytest.raises(InvariantError, match="has 32768 bytes"):
        written([(longest + b"k", b"v")])


def test_a_file_longer_than_readers_count_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    form = HFileForm(block_bytes=100)
    whole = written(ENTRIES, form)
    monkeypatch.setattr(writer, "_LAST_POSITION", len(whole) - TRAILER_BYTES)
    assert written(ENTRIES, replace(form)) == whole
    monkeypatch.setattr(writer, "_LAST_POSITION", len(whole) - TRAILER_BYTES - 1)
    with pytest.raises(UnsupportedError, match="has no room for more than"):
        written(ENTRIES, form)
