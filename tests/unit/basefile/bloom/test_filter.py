import base64

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.basefile.bloom.filter import DYNAMIC_V0, SIMPLE, BloomBuilder, BloomParameters, parse
from pyhudi.errors import CorruptTableError, OptionError, UnsupportedError
from pyhudi.schema.metafields import RECORD_KEY
from tests.support.golden import golden_names, golden_table


def _text(parameters: BloomParameters, keys: list[str]) -> str:
    builder = BloomBuilder(parameters)
    builder.add(pa.array(keys, pa.string()))
    return builder.to_text()


def test_simple_filter_is_bit_for_bit_the_one_hudi_printed():
    parameters = BloomParameters(num_entries=10, fpp=0.01, type=SIMPLE)
    found = _text(parameters, ["a", "key1", "id:1,name:x", "日本"])
    assert found == "/////wAAAAcBAAAAYOgGQ1BAYEFYJAGAGA=="


def test_dynamic_filter_grows_by_rows_and_then_starts_over():
    parameters = BloomParameters(num_entries=4, fpp=0.01, max_entries=8)
    assert _text(parameters, [f"key{i}" for i in range(10)]) == (
        "/////wAAAAcBAAAAJwAAAAQAAAAGAAAAAv////8AAAAHAQAAACfUdK5uG/////8AAAAHAQAAACew1ld3cw=="
    )


def _mixed_keys(count: int) -> list[str]:
    return [f"schlüssel:{i * i},ключ{i}" if i % 3 else f"k{i}" for i in range(count)]


@pytest.mark.parametrize(
    ("parameters", "count", "expected"),
    [
        pytest.param(
            BloomParameters(num_entries=7, fpp=0.001, max_entries=20, type="DYNAMIC_V0"),
            33,
            "/////wAAAAsBAAAAZQAAAAcAAAATAAAAA/////8AAAALAQAAAGXv99+27De3v/iv/mcX//"
            "///wAAAAsBAAAAZWc1fneeoHLWXa7uvxv/////AAAACwEAAABln/P2K+/rn/vW7t7dDQ==",
            id="DYNAMIC_V0-33-keys-in-7",
        ),
        pytest.param(
            BloomParameters(num_entries=5, fpp=0.1, max_entries=5, type="DYNAMIC_V0"),
            17,
            "/////wAAAAQBAAAAGAAAAAUAAAARAAAAAf////8AAAAEAQAAABj//f8=",
            id="DYNAMIC_V0-17-keys-in-5",
        ),
        pytest.param(
            BloomParameters(num_entries=10, fpp=0.01, max_entries=100, type="DYNAMIC_V0"),
            500,
            "/////wAAAAcBAAAAYAAAAAoAAAGaAAAACv////8AAAAHAQAAAGD/////3v/////f//////"
            "//AAAABwEAAABg////f//v///7f/f//////wAAAAcBAAAAYP/3////7/////////////8A"
            "AAAHAQAAAGD//////////////+//////AAAABwEAAABg/////v////////3//////wAAAA"
            "cBAAAAYP/////////////v//////8AAAAHAQAAAGD/////////////////////AAAABwEA"
            "AABg////+////////////////wAAAAcBAAAAYP////v///////////////8AAAAHAQAAAG"
            "D//9/u3///9//f7/8=",
            id="DYNAMIC_V0-500-keys-in-10",
        ),
        pytest.param(
            BloomParameters(num_entries=10, fpp=0.01, max_entries=-1, type="SIMPLE"),
            60,
            "/////wAAAAcBAAAAYP///f///////////w==",
            id="SIMPLE-60-keys-in-10",
        ),
    ],
)
def test_filter_beyond_its_room_is_the_one_hudi_printed(parameters, count, expected):
    assert _text(parameters, _mixed_keys(count)) == expected


@given(st.lists(st.integers(0, 12), max_size=8))
def test_filter_does_not_depend_on_how_its_keys_are_cut(lengths):
    parameters = BloomParameters(num_entries=7, fpp=0.001, max_entries=20)
    keys = _mixed_keys(40)
    builder = BloomBuilder(parameters)
    start = 0
    for length in [*lengths, len(keys)]:
        builder.add(pa.array(keys[start : start + length], pa.string()))
        start += length
    assert builder.to_text() == _text(parameters, keys)


def test_empty_default_filter_has_the_header_that_hudi_printed():
    data = base64.b64decode(BloomBuilder(BloomParameters()).to_text())
    assert data[:42].hex() == (
        "ffffffff0000001e0100277d3e0000ea600000000000000001ffffffff0000001e0100277d3e00000000"
    )
    assert len(data) == 25 + 13 + 323_504 - 8
    assert not any(data[38:])


@pytest.mark.parametrize("name", golden_names("v6_cow"))
def test_filters_in_footers_of_hudi_are_made_again_from_their_keys(name):
    for path in golden_table(name).glob("**/*.parquet"):
        metadata = pq.read_metadata(path).metadata or {}
        stored = metadata.get(b"org.apache.hudi.bloomfilter")
        if stored is None or ".hoodie" in path.parts:
            continue
        found = parse(stored.decode(), metadata[b"hoodie_bloom_filter_type_code"].decode())
        assert found.to_text() == stored.decode()
        keys = pq.ParquetFile(path).read([RECORD_KEY]).column(RECORD_KEY)
        builder = BloomBuilder(BloomParameters(num_entries=found.row_entries))
        builder.add(keys)
        assert builder.to_text() == stored.decode()
        assert found.contains(keys).true_count == len(keys)


def test_filter_holds_its_keys_and_hardly_others():
    builder = BloomBuilder(BloomParameters(num_entries=500, fpp=0.001, max_entries=2_000))
    keys = pa.array([f"key{i}" for i in range(2_000)])
    builder.add(keys.dictionary_encode())
    found = parse(builder.to_text(), DYNAMIC_V0)
    assert found.contains(keys).true_count == 2_000
    assert found.contains(pa.array([f"other{i}" for i in range(2_000)])).true_count < 30


@pytest.mark.parametrize("kind", [SIMPLE, DYNAMIC_V0])
def test_inherited_filter_goes_on_where_it_ended(kind):
    parameters = BloomParameters(num_entries=7, fpp=0.001, max_entries=20, type=kind)
    keys = _mixed_keys(40)
    for count in (0, 5, 7, 19, 21, 22, 30):
        before = parse(_text(parameters, keys[:count]), kind)
        builder = BloomBuilder(parameters, inherited=before)
        assert builder.inherits
        builder.add(pa.array(keys[count:]))
        assert builder.to_text() == _text(parameters, keys)


def test_filter_of_another_size_is_not_inherited():
    before = parse(_text(BloomParameters(num_entries=7), []), DYNAMIC_V0)
    builder = BloomBuilder(BloomParameters(num_entries=8), inherited=before)
    assert not builder.inherits
    assert builder.to_text() == _text(BloomParameters(num_entries=8), [])


@pytest.mark.parametrize("text", ["", "!", "AAAA", "/////wAAAAcBAAAAYOgG"])
def test_text_that_is_no_filter_is_corrupt(text):
    with pytest.raises(CorruptTableError, match="bloom filter"):
        parse(text, None)


def test_filter_of_another_hash_is_not_read():
    data = base64.b64encode(bytes.fromhex("ffffffff000000070000000060")).decode()
    with pytest.raises(UnsupportedError, match="hash 0"):
        parse(data, SIMPLE)


@pytest.mark.parametrize("values", [{"type": "CUCKOO"}, {"num_entries": 0}, {"fpp": 1.0}], ids=str)
def test_parameters_that_make_no_filter_are_refused(values):
    with pytest.raises(OptionError):
        BloomParameters(**values)
