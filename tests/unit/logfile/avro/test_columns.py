"""Records decoded by columns are those decoded one by one."""

import json
import math
import random
import string
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.avro.columns import columnar, decode_columns
from pyhudi.logfile.avro.rows import iter_tables, record_schema, split_records
from pyhudi.logfile.avro.values import storage_type, with_logical_type
from pyhudi.schema.arrow import avro_to_arrow
from tests.support.log_files import avro_content, join_records


class Chance:
    """Random schemas and records of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = (f"n{number}" for number in range(1000))

    def schema(self) -> dict[str, Any]:
        return {"type": "record", "name": "row", "fields": self.fields(self.random.randint(1, 8))}

    def fields(self, count: int, depth: int = 0) -> list[dict[str, Any]]:
        return [{"name": next(self.names), "type": self.kind(depth)} for _ in range(count)]

    def kind(self, depth: int) -> Any:
        plain = ["boolean", "int", "long", "float", "double", "string", "bytes"]
        decimal = {"logicalType": "decimal", "precision": 20, "scale": 3}
        logical = [
            {"type": "int", "logicalType": "date"},
            {"type": "long", "logicalType": "timestamp-micros"},
            {"type": "bytes", **decimal},
            {"type": "fixed", "name": next(self.names), "size": 9, **decimal},
            {"type": "fixed", "name": next(self.names), "size": 3},
            {"type": "enum", "name": next(self.names), "symbols": ["A", "B", "C"]},
        ]
        if depth < 2:
            inner = self.fields(self.random.randint(1, 3), depth + 1)
            logical.append({"type": "record", "name": next(self.names), "fields": inner})
        kind = self.random.choice([*plain, *logical])
        return self.random.choice([kind, ["null", kind], [kind, "null"]])

    def value(self, kind: Any) -> Any:
        if isinstance(kind, list):
            return self.value(self.random.choice(kind))
        if isinstance(kind, dict) and kind["type"] == "record":
            return {field["name"]: self.value(field["type"]) for field in kind["fields"]}
        if isinstance(kind, dict) and kind["type"] == "enum":
            return self.random.choice(kind["symbols"])
        if isinstance(kind, dict) and kind["type"] == "fixed":
            return self.random.randbytes(kind["size"])[: kind["size"]]
        name = kind if isinstance(kind, str) else kind["type"]
        bits = self.random.choice([3, 7, 8, 20, 31, 63])
        number = self.random.getrandbits(bits) * self.random.choice([1, -1])
        text = "".join(self.random.choices(string.printable + "é日", k=self.random.choice([0, 9])))
        return {
            "null": lambda: None,
            "boolean": lambda: self.random.random() < 0.5,
            "int": lambda: max(-(2**31), min(2**31 - 1, number)),
            "long": lambda: number,
            "float": lambda: float(np.float32(self.random.random())),
            "double": lambda: self.random.choice([math.inf, 0.0, -0.0, self.random.random()]),
            "string": lambda: text,
            "bytes": lambda: self.random.randbytes(self.random.choice([0, 1, 8])),
        }[name]()


def plain_of(kind: Any) -> Any:
    """A schema without logical types."""
    if isinstance(kind, list):
        return [plain_of(each) for each in kind]
    if isinstance(kind, dict):
        gone = ("logicalType", "precision", "scale")
        kept = {key: value for key, value in kind.items() if key not in gone}
        if "fields" in kept:
            kept["fields"] = [{**f, "type": plain_of(f["type"])} for f in kept["fields"]]
        return kept
    return kind


def expected(schema: dict[str, Any], records: list[dict[str, Any]]) -> pa.Table:
    fields = avro_to_arrow(schema)
    arrays = [
        with_logical_type(
            pa.array([record[field.name] for record in records], storage_type(field.type)),
            field.type,
        )
        for field in fields
    ]
    return pa.Table.from_arrays(arrays, schema=fields)


@pytest.mark.parametrize("seed", range(150))
def test_records_of_any_schema_become_the_same_columns(seed: int) -> None:
    chance = Chance(seed)
    schema = chance.schema()
    records = [chance.value(schema) for _ in range(chance.random.choice([1, 2, 40]))]
    content = avro_content(records, plain_of(schema))
    assert record_schema(json.dumps(schema)).columnar is not None
    found = pa.concat_tables(iter_tables(content, json.dumps(schema), None, where="the block"))
    found.validate()
    assert found.equals(expected(schema, records))
    some = [name for name in found.column_names if chance.random.random() < 0.5]
    some = some or found.column_names[:1]
    part = pa.concat_tables(iter_tables(content, json.dumps(schema), some, where="the block"))
    assert part.equals(found.select(some))


def test_names_stand_for_the_types_defined_before() -> None:
    pair = {"type": "record", "name": "pair", "fields": [{"name": "x", "type": ["null", "int"]}]}
    fields = [{"name": "a", "type": pair}, {"name": "b", "type": ["null", "pair"]}]
    schema = {"type": "record", "name": "row", "fields": fields}
    records = [{"a": {"x": 1}, "b": {"x": None}}, {"a": {"x": None}, "b": None}]
    content = avro_content(records, schema)
    found = pa.concat_tables(iter_tables(content, json.dumps(schema), None, where="the block"))
    assert found.to_pylist() == records


@pytest.mark.parametrize(
    "kind", [{"type": "array", "items": "int"}, {"type": "map", "values": "int"}]
)
def test_records_with_arrays_and_maps_are_decoded_one_by_one(kind: dict[str, Any]) -> None:
    inner = {"type": "record", "name": "inner", "fields": [{"name": "v", "type": ["null", kind]}]}
    schema = {"type": "record", "name": "row", "fields": [{"name": "r", "type": inner}]}
    assert columnar(fastavro.parse_schema(schema)) is None
    value = [1, 2] if kind["type"] == "array" else [("a", 1)]
    stored = dict(value) if kind["type"] == "map" else value
    content = avro_content([{"r": {"v": stored}}], schema)
    (found,) = iter_tables(content, json.dumps(schema), None, where="the block")
    assert found.to_pylist() == [{"r": {"v": value}}]


def decode(content: bytes, schema: dict[str, Any]) -> list[pa.Array]:
    starts, ends = split_records(content)
    data = np.frombuffer(content, dtype=np.uint8)
    arrow = avro_to_arrow(schema)
    return decode_columns(data, starts, ends, schema, list(arrow), arrow.names)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("string", b"\x08abc", "longer than its record|reaches into"),
        ("string", b"\x05abc", "longer than its record"),
        ("string", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "longer than its record"),
        ("int", b"\x02\x02", "before or after"),
        ("long", b"\x80" * 11, "ten bytes"),
        (["null", "int"], b"\x04\x02", "branch"),
        ({"type": "fixed", "name": "f", "size": 10**12}, b"\x00", "fixed size"),
    ],
)
def test_bytes_that_are_no_values_are_told(kind: Any, value: bytes, message: str) -> None:
    schema = {"type": "record", "name": "row", "fields": [{"name": "v", "type": kind}]}
    with pytest.raises(CorruptTableError, match=message):
        decode(join_records([value]), schema)


def test_a_text_that_reaches_into_the_next_record_is_told() -> None:
    schema = {"type": "record", "name": "row", "fields": [{"name": "v", "type": "string"}]}
    with pytest.raises(CorruptTableError, match="reaches into the next"):
        decode(join_records([b"\x12abc", b"\x06abc"]), schema)
