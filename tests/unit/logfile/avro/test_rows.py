"""Records of Avro blocks as columns."""

import io
import json

import fastavro
import pyarrow as pa
import pytest

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.avro.rows import iter_tables, record_schema, split_records
from pyhudi.logfile.framing import BlockKind, HeaderKey
from tests.support.golden import golden_names
from tests.support.log_files import SCHEMA, avro_content, golden_blocks, rows

TEXT = json.dumps(SCHEMA)
CONTENT = avro_content(rows(("a", 1, "x"), ("b", None, None)))


def read(content: bytes, text: str = TEXT, columns=None) -> pa.Table:
    return pa.concat_tables(iter_tables(content, text, columns, where="the block"))


def test_records_become_columns_in_their_order() -> None:
    found = read(CONTENT)
    assert found.to_pylist() == rows(("a", 1, "x"), ("b", None, None))
    assert found.schema.types == [pa.string(), pa.int64(), pa.string()]


def test_only_the_columns_asked_for_are_made() -> None:
    assert read(CONTENT, columns={"name", "nowhere", "ts"}).column_names == ["ts", "name"]
    assert read(CONTENT, columns=["nowhere"]).num_rows == 2


def test_many_records_come_in_several_tables() -> None:
    content = avro_content(rows(*((f"k{at}", at, None) for at in range(40_000))))
    tables = list(iter_tables(content, TEXT, ["ts"], where="the block"))
    assert len(tables) > 1
    assert pa.concat_tables(tables).column("ts").to_pylist() == list(range(40_000))


def test_a_block_without_records_has_no_tables() -> None:
    assert list(iter_tables(avro_content([]), TEXT, None, where="the block")) == []


def test_names_and_defaults_of_a_schema_do_not_matter() -> None:
    fixed = {"type": "fixed", "name": "f", "size": 2, "logicalType": "decimal", "precision": 4}
    schema = {
        "type": "record",
        "name": "row",
        "namespace": "a.b",
        "doc": "kept by nobody",
        "fields": [
            {"name": "first", "type": ["null", fixed], "default": None},
            {"name": "second", "type": "f"},
            {"name": "kind", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
            {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 0},
        ],
    }
    plain = record_schema(json.dumps(schema)).plain
    record = {"first": b"\x00\x01", "second": b"\xff\xff", "kind": "B", "day": -1}
    found = read(avro_content([record], plain), json.dumps(schema))
    assert [str(value) for value in found.to_pylist()[0].values()] == ["1", "-1", "B", "1969-12-31"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "version -1", id="empty"),
        pytest.param(b"\x00\x00\x00\x09" + CONTENT[4:], "version 9", id="version"),
        pytest.param(CONTENT[:-1], "end at byte", id="cut"),
        pytest.param(CONTENT + b"\x00", "end at byte", id="longer"),
        pytest.param(CONTENT[:7] + b"\x03" + CONTENT[8:], "between two records", id="count"),
        pytest.param(
            CONTENT[:12] + b"\x09" + CONTENT[13:], "branch that its union has not", id="union"
        ),
    ],
)
def test_damaged_contents_are_told(content: bytes, message: str) -> None:
    with pytest.raises(CorruptTableError, match=f"the block.*{message}"):
        read(content)


@pytest.mark.parametrize("text", ["", "{}", '"string"', '{"type": "record"}', TEXT[:-9]])
def test_a_schema_that_is_none_is_told(text: str) -> None:
    with pytest.raises(CorruptTableError, match="the block"):
        read(CONTENT, text)


def test_a_schema_that_names_a_type_twice_is_told() -> None:
    fixed = {"type": "fixed", "name": "f", "size": 2}
    fields = [{"name": "a", "type": fixed}, {"name": "b", "type": fixed}]
    text = json.dumps({"type": "record", "name": "row", "fields": fields})
    with pytest.raises(CorruptTableError, match="redefined"):
        read(CONTENT, text)


@pytest.mark.parametrize("name", golden_names("v6_mor_"))
def test_records_of_hudi_are_joined_to_the_same_bytes(name: str) -> None:
    for block, content in golden_blocks(name, BlockKind.AVRO):
        schema = json.loads(block.header[HeaderKey.SCHEMA])
        parsed = fastavro.parse_schema(schema)
        records = [
            fastavro.schemaless_reader(io.BytesIO(content[start:end]), parsed, None)
            for start, end in zip(*split_records(content), strict=True)
        ]
        assert avro_content(records, schema) == content
