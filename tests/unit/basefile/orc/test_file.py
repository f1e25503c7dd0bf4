import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from pyhudi.basefile.bloom.filter import BloomBuilder
from pyhudi.basefile.orc.file import OrcReader, OrcWriteOptions
from pyhudi.errors import CorruptTableError, SchemaError, UnsupportedError
from pyhudi.schema.avro import dumps
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.metafields import META_FIELDS, with_meta
from tests.support.base_files import AVRO, DATA, SMALL_BLOOM, rows_from, written

UTC = dt.timezone.utc
_INSTANT = pa.timestamp("us", "UTC")
_POINT = pa.struct([("x", pa.float64()), ("at", _INSTANT)])
_EVERY_TYPE = pa.schema(
    [
        ("id", pa.string()),
        ("c_bool", pa.bool_()),
        ("c_int", pa.int32()),
        ("c_long", pa.int64()),
        ("c_float", pa.float32()),
        ("c_double", pa.float64()),
        ("c_small", pa.decimal128(5, 2)),
        ("c_wide", pa.decimal128(38, 10)),
        ("c_binary", pa.binary()),
        ("c_date", pa.date32()),
        ("c_instant", pa.timestamp("us", "UTC")),
        ("c_millis", pa.timestamp("ms", "UTC")),
        ("c_local", pa.timestamp("us")),
        ("c_list", pa.list_(pa.int32())),
        ("c_instants", pa.list_(pa.list_(pa.timestamp("us", "UTC")))),
        ("c_locals", pa.list_(pa.timestamp("us"))),
        ("c_points", pa.list_(_POINT)),
        ("c_map", pa.map_(pa.string(), _POINT)),
        ("c_struct", pa.struct([("a", pa.int32()), ("p", _POINT), ("l", pa.list_(pa.string()))])),
    ]
)


def _every_type(count: int) -> pa.Table:
    return pa.Table.from_pylist([_row(i) for i in range(count)], schema=with_meta(_EVERY_TYPE))


def _row(i: int) -> dict[str, Any]:
    meta = {**dict.fromkeys(META_FIELDS, "m"), "_hoodie_record_key": f"k{i}", "id": f"k{i}"}
    if i % 7 == 3:
        return meta
    at = dt.datetime(1969, 7, 20, 20, 17, 40, 123456, UTC) + dt.timedelta(days=97 * i)
    at = at.replace(microsecond=0) if at.year < 1970 else at
    local = at.replace(tzinfo=None)
    point = {"x": i / 3, "at": at}
    return meta | {
        "c_bool": i % 2 == 0,
        "c_int": (-(2**31), 2**31 - 1, i)[i % 3],
        "c_long": (-(2**63), 2**63 - 1, i)[i % 3],
        "c_float": (float("-inf"), -0.0, i + 0.5)[i % 3],
        "c_double": (float("inf"), 1e-300, i + 1 / 7)[i % 3],
        "c_small": Decimal(-i) / 100,
        "c_wide": Decimal("1234567890123456789012345678.0123456789") - i,
        "c_binary": bytes([0, 255, i % 256]) if i % 2 else b"",
        "c_date": dt.date(1883, 11, 18) + dt.timedelta(days=100 * i),
        "c_instant": at,
        "c_millis": at.replace(microsecond=i % 1000 * 1000 if at.year >= 1970 else 0),
        "c_local": local,
        "c_list": [*range(i % 4)] + [None] * (i % 2),
        "c_instants": [[at], [], None, [None, at]],
        "c_locals": [local, None][: i % 3],
        "c_points": [point, None, {"x": None, "at": None}][: i % 4],
        "c_map": [("p", point), ("ü", None)][: i % 3],
        "c_struct": {"a": i, "p": point if i % 2 else None, "l": ["é", None] * (i % 3)},
    }


def _written(
    tables: Sequence[pa.Table | pa.RecordBatch], schema: pa.Schema = DATA, **options: Any
) -> pa.Buffer:
    return written(tables, OrcWriteOptions(**options), schema)


def _written_at(times: Sequence[Any], kind: pa.DataType = _INSTANT, **options: Any) -> pa.Buffer:
    """A file of these times."""
    schema = pa.schema([("id", pa.string()), ("at", kind)])
    rows = rows_from(0, len(times)).drop_columns(["n"])
    return _written([rows.append_column("at", pa.array(times, kind))], schema, **options)


def _read(content: pa.Buffer, **choice: Any) -> pa.Table:
    return pa.concat_tables(OrcReader(content).iter_tables(**choice))


@pytest.mark.parametrize("codec", ["zlib", "zstd", "snappy", "lz4", "none"])
def test_rows_come_back_in_order_whatever_the_codec(codec: str) -> None:
    content = _written([rows_from(0, 60), rows_from(60, 100)], codec=codec, row_group_rows=30)
    assert OrcReader(content).schema.equals(with_meta(DATA))
    assert _read(content).equals(rows_from(0, 100).cast(with_meta(DATA)))


@pytest.mark.parametrize("row_group_rows", [100, 1_000])
def test_every_type_comes_back_as_it_was(row_group_rows: int) -> None:
    table = _every_type(500)
    parts = [table.slice(0, 130), table.slice(130, 1), table.slice(131)]
    content = _written(parts, _EVERY_TYPE, codec="none", row_group_rows=row_group_rows)
    assert reconcile(_read(content), table.schema).to_pylist() == table.to_pylist()


def test_what_pyarrow_reads_is_what_hudi_writes() -> None:
    content = _written([_every_type(20)], _EVERY_TYPE)
    found = orc.ORCFile(pa.BufferReader(content)).schema
    # The ORC types of Hudi: instants are timestamps without a zone, local timestamps longs.
    assert found.field("c_instant").type == pa.timestamp("ns")
    assert found.field("c_local").type == pa.int64()
    assert found.field("c_small").type == pa.decimal128(5, 2)


def test_the_user_metadata_are_those_of_hudi() -> None:
    content = _written([rows_from(0, 40), rows_from(40, 90)])
    metadata = orc.ORCFile(pa.BufferReader(content)).metadata
    builder = BloomBuilder(SMALL_BLOOM)
    builder.add(rows_from(0, 90).column("_hoodie_record_key"))
    assert {key.decode(): value.decode() for key, value in metadata.items()} == {
        "hoodie_min_record_key": "k0",
        "hoodie_max_record_key": "k9",
        "org.apache.hudi.bloomfilter": builder.to_text(),
        "hoodie_bloom_filter_type_code": "DYNAMIC_V0",
        "orc.avro.schema": dumps(AVRO),
    }


def test_columns_stripes_and_batches_can_be_chosen() -> None:
    # Random bytes do not compress, so that every stripe is one.
    schema = pa.schema([("id", pa.string()), ("n", pa.int64()), ("b", pa.binary())])
    noise = [rows_from(i, i + 50).append_column("b", _noise(50)) for i in range(0, 200, 50)]
    content = _written(noise, schema, row_group_rows=50, codec="none")
    reader = OrcReader(content)
    assert reader.row_groups == 4
    tables = list(reader.iter_tables(["n", "missing", "id"], [3, 1], batch_rows=20))
    assert [table.num_rows for table in tables] == [20, 20, 10] * 2
    assert pa.concat_tables(tables)["n"].to_pylist() == [*range(150, 200), *range(50, 100)]
    assert tables[0].schema.names == ["n", "id"]
    assert _read(content, columns=["id"])["id"].to_pylist() == [f"k{i}" for i in range(200)]


def _noise(count: int) -> pa.Array:
    return pa.array([bytes((i * j * 37 + j) % 251 for j in range(2_000)) for i in range(count)])


@pytest.mark.parametrize("kept", [0, 2, 15, 0.5, -1])
def test_a_truncated_file_is_named(kept: float) -> None:
    content = _written([rows_from(0, 100)]).to_pybytes()
    end = int(len(content) * kept) if isinstance(kept, float) else kept
    with pytest.raises(CorruptTableError, match=r"p/f\.orc is no ORC file"):
        OrcReader(pa.py_buffer(content[:end]), name="p/f.orc")


def test_damaged_rows_are_named() -> None:
    content = bytearray(_written([_every_type(400)], _EVERY_TYPE, codec="zlib").to_pybytes())
    content[100:4000] = b"\x07" * 3900
    reader = OrcReader(pa.py_buffer(bytes(content)), name="p/f.orc")
    with pytest.raises(CorruptTableError, match=r"p/f\.orc is not a whole ORC file"):
        list(reader.iter_tables())


@pytest.mark.parametrize("year", [1600, 9999])
def test_an_instant_that_could_not_be_read_back_is_refused(year: int) -> None:
    with pytest.raises(SchemaError, match="column at has timestamps between"):
        _written_at([[dt.datetime(year, 12, 31, tzinfo=UTC)]], pa.list_(_INSTANT))


def test_a_fraction_of_a_second_before_1970_is_refused() -> None:
    """Arrow would write negative nanoseconds, at which Java's readers fail."""
    whole = dt.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
    _written_at([whole])
    with pytest.raises(SchemaError, match="column at has 1 timestamps before 1970"):
        _written_at([whole.replace(microsecond=1)])


def test_an_instant_of_others_that_cannot_be_read_is_named() -> None:
    sink = pa.BufferOutputStream()
    far = pa.array([dt.datetime(9999, 12, 31)], pa.timestamp("us"))  # noqa: DTZ001
    orc.write_table(pa.table({"at": far}), sink)
    reader = OrcReader(sink.getvalue(), name="p/f.orc")
    with pytest.raises(UnsupportedError, match=r"p/f\.orc has a timestamp before 1677 or after"):
        list(reader.iter_tables())


def test_timestamps_of_a_file_without_a_schema_of_hudi_are_instants() -> None:
    sink = pa.BufferOutputStream()
    local = pa.array([dt.datetime(2026, 1, 2, 3, 4, 5, 6)], pa.timestamp("us"))  # noqa: DTZ001
    orc.write_table(pa.table({"at": local, "z": local.cast(pa.timestamp("us", "UTC"))}), sink)
    table = _read(sink.getvalue())
    assert [field.type for field in table.schema] == [pa.timestamp("us", "UTC")] * 2
    assert table["at"].to_pylist() == [dt.datetime(2026, 1, 2, 3, 4, 5, 6, UTC)]


def test_instants_are_read_in_the_zone_of_their_writer() -> None:
    noon = dt.datetime(2026, 7, 1, 12, 0, 0, 5, UTC)
    content = _written_at([noon, None], codec="none").to_pybytes()
    assert content.count(b"GMT") == 1
    in_arizona = pa.py_buffer(content.replace(b"GMT", b"MST"))
    assert _read(in_arizona)["at"].to_pylist() == [noon + dt.timedelta(hours=7), None]
