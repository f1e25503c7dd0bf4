import json
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi.errors import SchemaError
from pyhudi.schema.arrow import arrow_to_avro, avro_to_arrow, decimal_size
from pyhudi.schema.avro import dumps, parse
from pyhudi.schema.metafields import without_meta_avro
from tests.support.golden import golden_names, golden_table

_INT = pa.field("value", pa.int32(), nullable=False)
_PRICED = pa.struct([pa.field("x", pa.string(), nullable=False), ("y", pa.decimal128(4, 1))])
_MAPS = pa.map_(pa.string(), pa.struct([("q", pa.map_(pa.string(), _INT))]))
_INNER = pa.field("p", pa.struct([("p", pa.decimal128(9, 9))]), nullable=False)
_EVERY_TYPE = pa.schema(
    [
        ("b", pa.int8()),
        ("s", pa.int16()),
        pa.field("i", pa.int32(), nullable=False),
        ("bo", pa.bool_()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("de", pa.decimal128(10, 2)),
        pa.field("de5", pa.decimal128(5, 0), nullable=False),
        ("st", pa.string()),
        ("bi", pa.binary()),
        ("da", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("tn", pa.timestamp("us")),
        ("ar", pa.list_(_INT.with_name("element"))),
        ("ad", pa.list_(pa.decimal128(20, 3))),
        ("aa", pa.list_(pa.list_(_PRICED))),
        ("m", pa.map_(pa.string(), pa.decimal128(38, 18))),
        ("mm", pa.map_(pa.string(), _MAPS)),
        pa.field("sr", pa.struct([_INNER, ("z", pa.list_(pa.timestamp("us")))]), nullable=False),
    ]
)


def test_every_type_becomes_the_avro_that_hudi_1_1_1_makes_of_it():
    found = (Path(__file__).parent / "every_type.avsc").read_text(encoding="utf-8")
    assert dumps(arrow_to_avro(_EVERY_TYPE, "t1")) == dumps(json.loads(found))


def _committed_schemas(name: str) -> set[str]:
    found = set()
    for path in (golden_table(name) / ".hoodie").glob("*commit"):
        if path.stat().st_size:
            schema = json.loads(path.read_bytes()).get("extraMetadata", {}).get("schema")
            found.update([schema] if schema else [])
    return found


@pytest.mark.parametrize("name", golden_names("v6_cow"))
def test_schema_that_hudi_committed_survives_the_way_through_arrow(name):
    for text in _committed_schemas(name):
        # Commits that delete partitions carry the meta fields.
        expected = without_meta_avro(parse(text))
        table_name = expected["name"].removesuffix("_record")
        assert dumps(arrow_to_avro(avro_to_arrow(expected), table_name)) == dumps(expected)


@pytest.mark.parametrize(
    ("precision", "size"), [(1, 1), (2, 1), (3, 2), (4, 2), (9, 4), (18, 8), (20, 9), (38, 16)]
)
def test_decimal_takes_the_least_bytes(precision, size):
    assert decimal_size(precision) == size


def _one_field(kind: object) -> dict[str, object]:
    return {"type": "record", "name": "r", "fields": [{"name": "c", "type": kind}]}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ({"type": "enum", "name": "e", "symbols": ["A"]}, pa.string()),
        ({"type": "string", "logicalType": "uuid"}, pa.string()),
        ({"type": "fixed", "name": "f", "size": 3}, pa.binary()),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            pa.decimal128(5, 2),
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5}, pa.decimal128(5, 0)),
        ({"type": "int", "logicalType": "time-millis"}, pa.int32()),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.timestamp("ms", "UTC")),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, pa.timestamp("ms")),
        ({"type": {"type": "int", "logicalType": "date"}}, pa.date32()),
    ],
    ids=str,
)
def test_avro_type_becomes_the_arrow_type_that_holds_it(kind, expected):
    field = avro_to_arrow(_one_field(kind)).field("c")
    assert field.type == expected
    assert not field.nullable


def test_named_type_may_be_used_again_by_its_name():
    point = {"type": "record", "name": "point", "namespace": "n", "fields": []}
    point["fields"] = [{"name": "x", "type": "int"}]
    schema = {
        "type": "record",
        "name": "r",
        "namespace": "n",
        "fields": [{"name": "a", "type": point}, {"name": "b", "type": ["null", "point"]}],
    }
    found = avro_to_arrow(schema)
    assert found.field("a").type == found.field("b").type


def test_record_that_contains_itself_is_refused():
    schema = _one_field(["null", "r"])
    with pytest.raises(SchemaError, match="contains itself"):
        avro_to_arrow(schema)


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("s"), pa.null()], ids=str)
def test_type_without_a_place_in_avro_names_its_column(kind):
    with pytest.raises(SchemaError, match=r"t_record\.c has the type"):
        arrow_to_avro(pa.schema([("c", kind)]), "t")


def test_column_name_that_avro_forbids_is_refused():
    with pytest.raises(SchemaError, match="'a b'"):
        arrow_to_avro(pa.schema([("a b", pa.int32())]), "t")
