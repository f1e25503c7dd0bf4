"""Records encoded by columns are those that fastavro encodes one by one."""

import datetime as dt
import io
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from pyhudi.errors import SchemaError
from pyhudi.logfile.avro.encode import encode_records
from pyhudi.logfile.avro.rows import iter_tables
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from tests.support.log_files import join_records

Draw = Callable[[random.Random], Any]

PLAIN: list[tuple[pa.DataType, Draw]] = [
    (pa.bool_(), lambda r: r.random() < 0.5),
    (pa.int32(), lambda r: r.choice([0, -1, 63, 64, -65, 2**31 - 1, -(2**31), r.randint(-9, 9)])),
    (pa.int64(), lambda r: r.choice([0, -1, 2**63 - 1, -(2**63), r.randint(-(2**40), 2**40)])),
    (pa.float32(), lambda r: r.choice([0.0, 1.5, float("inf")])),
    (pa.float64(), lambda r: r.uniform(-1e300, 1e300)),
    (pa.string(), lambda r: r.choice(["", "é", "x" * 200, str(r.random())])),
    (pa.binary(), lambda r: r.randbytes(r.randint(0, 5))),
    (pa.date32(), lambda r: dt.date(1960, 1, 1) + dt.timedelta(days=r.randint(0, 30_000))),
    (
        pa.timestamp("us", "UTC"),
        lambda r: (
            dt.datetime(1969, 1, 1, tzinfo=dt.timezone.utc)
            + dt.timedelta(microseconds=r.randint(0, 2**50))
        ),
    ),
    (pa.decimal128(20, 3), lambda r: Decimal(r.randint(-(10**19), 10**19)).scaleb(-3)),
    (pa.decimal128(5, 0), lambda r: Decimal(r.randint(-99_999, 99_999))),
]


class Chance:
    """Random columns and values of them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def column(self, depth: int = 0) -> tuple[pa.DataType, Draw]:
        shapes = [*PLAIN, "list", "map", "struct"] if depth < 2 else PLAIN
        chosen = self.random.choice(shapes)
        if isinstance(chosen, tuple):
            return chosen
        kind, draw = self.column(depth + 1)
        inner = self.nullable(draw)
        if chosen == "list":
            return pa.list_(kind), lambda r: [inner(r) for _ in range(r.randint(0, 3))]
        if chosen == "map":
            keys = ["a", "b", "c"]
            return pa.map_(pa.string(), kind), lambda r: [
                (key, inner(r)) for key in keys[: r.randint(0, 3)]
            ]
        other, draw_other = self.column(depth + 1)
        filled = pa.field("filled", other, nullable=False)
        struct = pa.struct([pa.field("inner", kind), filled])
        return struct, lambda r: {"inner": inner(r), "filled": draw_other(r)}

    def nullable(self, draw: Draw) -> Draw:
        return lambda r: None if r.random() < 0.3 else draw(r)

    def table(self, rows: int) -> pa.Table:
        fields, columns = [], []
        for number in range(self.random.randint(1, 6)):
            kind, draw = self.column()
            is_nullable = self.random.random() < 0.7
            values = self.nullable(draw) if is_nullable else draw
            fields.append(pa.field(f"c{number}", kind, nullable=is_nullable))
            columns.append(pa.array([values(self.random) for _ in range(rows)], kind))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def one_by_one(table: pa.Table, schema: dict[str, Any]) -> list[bytes]:
    parsed = fastavro.parse_schema(schema)
    found = []
    for row in table.to_pylist(maps_as_pydicts="strict"):
        sink = io.BytesIO()
        fastavro.schemaless_writer(sink, parsed, row)
        found.append(sink.getvalue())
    return found


def content_of(table: pa.Table, schema: dict[str, Any]) -> bytes:
    """A block's content: what encodes by columns already frames the records."""
    framed = [bytes(value) for value in encode_records(table, schema).to_pylist()]
    for record in framed:
        assert int.from_bytes(record[:4], "big") == len(record) - 4
    return join_records([record[4:] for record in framed])


@pytest.mark.parametrize("seed", range(80))
def test_any_table_is_encoded_as_record_by_record(seed: int) -> None:
    table = Chance(seed).table(rows=17)
    schema = arrow_to_avro(table.schema, "t")
    assert content_of(table, schema) == join_records(one_by_one(table, schema))


@pytest.mark.parametrize("seed", range(20))
def test_parts_of_a_table_are_encoded_as_if_they_were_whole(seed: int) -> None:
    table = Chance(1000 + seed).table(rows=20)
    schema = arrow_to_avro(table.schema, "t")
    for start, count in ((0, 0), (3, 9), (19, 1)):
        part = table.slice(start, count)
        assert content_of(part, schema) == join_records(one_by_one(part, schema))


def test_what_is_encoded_is_decoded_to_the_same() -> None:
    table = Chance(5).table(rows=50)
    schema = arrow_to_avro(table.schema, "t")
    content = content_of(table, schema)
    found = pa.concat_tables(iter_tables(content, dumps(schema), None, where="the block"))
    assert found.to_pylist() == table.to_pylist()


def test_columns_with_a_dictionary_are_encoded_as_their_values() -> None:
    texts = pa.array(["a", "b", None, "a"])
    table = pa.table({"many": texts, "one": pa.array(["x"] * 4)})
    coded = pa.table({name: table[name].dictionary_encode() for name in table.column_names})
    schema = arrow_to_avro(table.schema, "t")
    assert content_of(coded, schema) == content_of(table, schema)


def test_a_null_where_none_may_be_is_refused() -> None:
    schema = arrow_to_avro(pa.schema([pa.field("n", pa.int64(), nullable=False)]), "t")
    with pytest.raises(SchemaError, match="column n has 1 nulls"):
        encode_records(pa.table({"n": pa.array([1, None])}), schema)
