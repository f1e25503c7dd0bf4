"""Deletes in logs that are weighed by the values of several ordering columns."""

import datetime as dt
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pyhudi.logfile.deletes.blocks import Deletes, OrderingKind, decode_deletes, encode_deletes
from pyhudi.logfile.deletes.new import ordered_deletes
from pyhudi.logfile.framing import BlockKind, encode_block
from pyhudi.logfile.reader import Block, iter_blocks
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows
from tests.interop.test_merge_on_read import MERGE_ON_READ

OPTIONS = {
    **MERGE_ON_READ,
    "hoodie.table.name": "weighed",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts,seq",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.payload.class": (
        "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    ),
    "hoodie.write.table.version": "6",
}
Value = Callable[[int], Any]
TYPES: dict[str, tuple[pa.DataType, Value]] = {
    "int": (pa.int32(), lambda n: n),
    "long": (pa.int64(), lambda n: n << 40),
    "double": (pa.float64(), lambda n: n / 3),
    "string": (pa.string(), lambda n: f"v{n}"),
    "decimal": (pa.decimal128(12, 2), lambda n: decimal.Decimal(n) / 4),
    "date": (pa.date32(), lambda n: dt.date(2026, 1, 1) + dt.timedelta(days=n)),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        lambda n: dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(days=n),
    ),
}
# Keys, and what their delete has beside a row whose values are 5 and 5.
WEIGHED = {
    "older": (4, 9),
    "older_2nd": (5, 4),
    "same": (5, 5),
    "newer_2nd": (5, 6),
    "newer": (6, 0),
}


@pytest.fixture
def hudi_1x(hudi: RealHudi) -> RealHudi:
    """Hudi 0.15 takes one ordering column."""
    if hudi.version.startswith("0."):
        pytest.skip("this release has no deletes with several ordering values")
    return hudi


def batch(
    types: tuple[str, str], values: dict[str, tuple[int, int]], *, gone: bool, text: str
) -> pa.Table:
    (first, make_first), (second, make_second) = (TYPES[each] for each in types)
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("ts", first),
            ("seq", second),
            ("value", pa.string()),
            ("_hoodie_is_deleted", pa.bool_()),
        ]
    )
    rows = [
        dict(zip(schema.names, [key, make_first(ts), make_second(seq), text, gone], strict=True))
        for key, (ts, seq) in values.items()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def delete_blocks(table: Path) -> list[tuple[Path, Block, Deletes]]:
    found = []
    for path in sorted(table.rglob(".*.log.*")):
        source = pa.BufferReader(path.read_bytes())
        for block in iter_blocks(source, path.name):
            if block.kind is BlockKind.DELETE and ".hoodie" not in path.parts:
                content = block.read(source)
                deletes = decode_deletes(content, where=block.where)
                assert encode_deletes(deletes) == content
                found.append((path, block, deletes))
    return found


@pytest.mark.parametrize(
    "types", [("long", "int"), ("string", "double"), ("timestamp", "decimal")], ids="-".join
)
def test_deletes_of_hudi_are_weighed_column_by_column(
    types: tuple[str, str], hudi_1x: RealHudi, tmp_path: Path
) -> None:
    """Against stored rows, against rows in the log, and then rows against the deletes."""
    hudi, table = hudi_1x, tmp_path / "table"
    fives = dict.fromkeys(WEIGHED, (5, 5))
    hudi.write(
        table,
        batch(types, {**fives, "other": (1, 1)}, gone=False, text="base"),
        "insert",
        options=OPTIONS,
        mode="overwrite",
    )
    steps = [
        batch(types, WEIGHED, gone=True, text="gone"),
        batch(types, {**fives, "newer": (6, 1)}, gone=False, text="back"),
        batch(types, WEIGHED, gone=True, text="gone again"),
        batch(types, dict.fromkeys(WEIGHED, (5, 6)), gone=False, text="last"),
    ]
    for rows in steps:
        hudi.write(table, rows, "upsert", options=OPTIONS)
        assert_same_rows(ours.read(table), hudi.read(table))
    assert any((deletes.kinds == OrderingKind.ARRAY).any() for *_, deletes in delete_blocks(table))


def test_hudi_weighs_deletes_that_we_encode(hudi_1x: RealHudi, tmp_path: Path) -> None:
    """A delete block of Hudi is replaced by one of ours with other values."""
    hudi, table, types = hudi_1x, tmp_path / "table", ("long", "int")
    rows = batch(types, dict.fromkeys(WEIGHED, (5, 5)), gone=False, text="base")
    hudi.write(table, rows, "insert", options=OPTIONS, mode="overwrite")
    gone = batch(types, dict.fromkeys(WEIGHED, (9, 9)), gone=True, text="gone")
    hudi.write(table, gone, "upsert", options=OPTIONS)
    assert hudi.read(table) == ours.read(table) == []

    ((path, block, deletes),) = delete_blocks(table)
    wanted = [WEIGHED[key] for key in deletes.keys.to_pylist()]
    values = (
        pa.array([TYPES["long"][1](ts) for ts, _ in wanted], pa.int64()),
        pa.array([seq for _, seq in wanted], pa.int32()),
    )
    made = ordered_deletes(deletes.keys, deletes.partitions[0].as_py(), values)
    ours_instead = encode_block(block.kind, block.header, encode_deletes(made))
    path.with_name(f".{path.name}.crc").unlink()
    data = path.read_bytes()
    path.write_bytes(data[: block.offset] + ours_instead + data[block.offset + block.size_bytes :])
    found = hudi.read(table)
    assert_same_rows(ours.read(table), found)
    assert {row["id"] for row in found} == {"older", "older_2nd"}


# Hudi 1.1.1 cannot read deletes of its own that are weighed by a date among other columns.
@pytest.mark.parametrize(
    "types", [("long", "int"), ("timestamp", "decimal"), ("date", "string")], ids="-".join
)
def test_hudi_weighs_deletes_that_we_write(
    types: tuple[str, str], hudi_1x: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    """Rows that say they are deleted, in a write of ours to a table of Hudi."""
    hudi, table = hudi_1x, tmp_path / "table"
    rows = batch(types, dict.fromkeys(WEIGHED, (5, 5)), gone=False, text="base")
    hudi.write(table, rows, "insert", options=OPTIONS, mode="overwrite")
    gone = batch(types, WEIGHED, gone=True, text="gone")
    ours.write(spark, table, gone, "upsert", OPTIONS)
    assert {row["id"] for row in ours.read(table)} == {"older", "older_2nd"}
    assert_same_rows(ours.read(table), hudi.read(table))
    back = batch(types, dict.fromkeys(WEIGHED, (5, 6)), gone=False, text="back")
    hudi.write(table, back, "upsert", options=OPTIONS)
    assert_same_rows(ours.read(table), hudi.read(table))


def test_hudi_reads_deletes_that_we_write_by_a_date_alone(hudi: RealHudi, spark, tmp_path) -> None:
    """Hudi 1.1 weighs them against stored rows; in 0.15 every delete wins against these."""
    table, types = tmp_path / "table", ("date", "int")
    options = {**OPTIONS, "hoodie.datasource.write.precombine.field": "ts"}
    rows = batch(types, dict.fromkeys(WEIGHED, (5, 5)), gone=False, text="base")
    hudi.write(table, rows, "insert", options=options, mode="overwrite")
    ours.write(spark, table, batch(types, WEIGHED, gone=True, text="gone"), "upsert", options)
    assert {row["id"] for row in ours.read(table)} == {"older"}
    assert_same_rows(hudi.read(table), ours.read(table) if hudi.version.startswith("1.") else [])
