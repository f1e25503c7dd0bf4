"""Records of HFile blocks as columns."""

import json
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pytest

from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.hfile_rows import iter_tables
from tests.support.hfiles import GZ, NO_CHECKSUM, Entry, avro_entries, hfile
from tests.support.log_files import SCHEMA, golden_blocks, rows

TEXT = json.dumps(SCHEMA)
ENTRIES = avro_entries(rows(("b", None, None), ("a", 1, "x")))
CONTENT = hfile([ENTRIES], TEXT)


def read(content: bytes, text: str = TEXT, columns: Collection[str] | None = None) -> pa.Table:
    return pa.concat_tables(iter_tables(content, text, columns, where="the block"))


def schema_of(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "row", "fields": [{"name": n, "type": t} for n, t in fields]}


def test_records_become_columns_in_the_order_of_their_keys() -> None:
    found = read(CONTENT)
    assert found.to_pylist() == rows(("a", 1, "x"), ("b", None, None))
    assert found.schema.types == [pa.string(), pa.int64(), pa.string()]


def test_only_the_columns_asked_for_are_made() -> None:
    assert read(CONTENT, columns={"name", "nowhere", "ts"}).column_names == ["ts", "name"]
    assert read(CONTENT, columns=["nowhere"]).num_rows == 2


def test_many_records_come_in_several_tables() -> None:
    entries = avro_entries(rows(*((f"k{at:05}", at, None) for at in range(40_000))))
    content = hfile([entries[:3], entries[3:]], TEXT, codec=GZ)
    tables = list(iter_tables(content, TEXT, ["ts"], where="the block"))
    assert [table.num_rows for table in tables] == [3, 16_384, 16_384, 7_229]
    assert pa.concat_tables(tables).column("ts").to_pylist() == list(range(40_000))


def test_a_block_without_records_has_no_tables() -> None:
    assert list(iter_tables(hfile([], TEXT), TEXT, None, where="the block")) == []


def test_records_with_lists_and_maps_are_read() -> None:
    schema = schema_of(("id", "string"), ("l", {"type": "array", "items": "long"}))
    records, text = [{"id": "a", "l": [1, 2]}, {"id": "b", "l": []}], json.dumps(schema)
    assert read(hfile([avro_entries(records, schema, "id")], text), text).to_pylist() == records


@pytest.mark.parametrize("kind", ["string", ["null", "string"]])
def test_a_key_that_stands_in_the_hfile_alone_is_filled_in(kind: object) -> None:
    schema = schema_of(("key", kind), ("n", "long"))
    whole = [{"key": f"ß{at:05}", "n": at} for at in range(20_000)]
    emptied: list[Entry] = []
    for row in whole:
        ((_, value),) = avro_entries([{**row, "key": ""}], schema, "key")
        emptied.append((row["key"].encode(), value))
    text = json.dumps(schema)
    assert read(hfile([emptied], text), text).to_pylist() == whole
    assert read(hfile([emptied], text), text, ["n"]).column_names == ["n"]


def test_a_column_named_key_that_says_something_is_left_as_it_is() -> None:
    schema = schema_of(("id", "string"), ("key", ["null", "string"]))
    records = [{"id": "a", "key": "own"}, {"id": "b", "key": None}]
    text = json.dumps(schema)
    assert read(hfile([avro_entries(records, schema, "id")], text), text).to_pylist() == records
    numbered = schema_of(("id", "string"), ("key", "long"))
    numbers, text = [{"id": "a", "key": 5}], json.dumps(numbered)
    assert read(hfile([avro_entries(numbers, numbered, "id")], text), text).to_pylist() == numbers


def test_neither_a_schema_in_the_hfile_nor_its_documentation_nor_checksums_are_needed() -> None:
    documented = json.dumps({**SCHEMA, "doc": "rows"})
    unchecked = hfile([ENTRIES], TEXT, checksum=NO_CHECKSUM)
    for content in (hfile([ENTRIES]), hfile([ENTRIES], documented), unchecked):
        assert read(content).num_rows == 2


@pytest.mark.parametrize(
    ("content", "text", "message"),
    [
        pytest.param(b"nothing", TEXT, "cannot be read: .* no trailer", id="no_hfile"),
        pytest.param(CONTENT, TEXT.replace('"ts"', '"tt"'), "another schema", id="renamed"),
        pytest.param(CONTENT, TEXT.replace("long", "int"), "another schema", id="other_type"),
        pytest.param(CONTENT, TEXT[:-1], "cannot be read", id="no_schema"),
        pytest.param(hfile([[(b"a", b"\7")]]), TEXT, "branch", id="union"),
        pytest.param(hfile([[(b"a", b"")]]), TEXT, "no records of its schema", id="empty_value"),
    ],
)
def test_damaged_contents_are_told(content: bytes, text: str, message: str) -> None:
    with pytest.raises(CorruptTableError, match=f"the block.*{message}"):
        read(content, text)


def test_a_key_that_is_no_text_is_told() -> None:
    schema = schema_of(("key", "string"))
    with pytest.raises(CorruptTableError, match="the block holds no records"):
        read(hfile([[(b"\xff\xfe", b"\0")]]), json.dumps(schema))


def test_a_form_that_is_not_read_is_refused_by_block() -> None:
    with pytest.raises(UnsupportedError, match=r"the block cannot be read: .*SNAPPY"):
        read(hfile([ENTRIES], TEXT, numbers={12: 3}))


def test_blocks_of_hudi_have_the_keys_of_their_records() -> None:
    found = 0
    for block, content in golden_blocks("v6_mor_hfile_logs", BlockKind.HFILE):
        keys = read(content, block.header[HeaderKey.SCHEMA], ["id", "_hoodie_record_key"])
        assert keys.column("id").equals(keys.column("_hoodie_record_key"))
        found += keys.num_rows
    assert found > 20
