"""Tables whose columns change: real Hudi and we come to the same schema and the same rows."""

import datetime as dt
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pyhudi
from pyhudi.schema.arrow import avro_to_arrow
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import Row, assert_same_rows, user_columns

W = "hoodie.datasource.write."
OPTIONS = {
    "hoodie.table.name": "t",
    f"{W}recordkey.field": "id",
    f"{W}partitionpath.field": "p",
    f"{W}precombine.field": "ts",
    "hoodie.write.table.version": "6",
    "hoodie.index.bloom.num_entries": "100",
}
NULL = {"hoodie.write.set.null.for.missing.columns": "true"}
RECONCILE = {f"{W}reconcile.schema": "true"}
DROP = {f"{W}schema.allow.auto.evolution.column.drop": "true"}

ITEM = pa.struct([("a", pa.int32()), ("b", pa.string())])
BASE: dict[str, pa.DataType] = {
    "id": pa.string(),
    "p": pa.string(),
    "ts": pa.int64(),
    "i": pa.int32(),
    "j": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "g": pa.float32(),
    "d": pa.float64(),
    "dec": pa.decimal128(10, 2),
    "s": pa.string(),
    "date": pa.date32(),
    "st": ITEM,
    "ar": pa.list_(ITEM),
    "m": pa.map_(pa.string(), ITEM),
}
DAY = dt.date(2026, 1, 2)


def _item(n: int) -> dict[str, Any]:
    return {"a": n, "b": f"b{n}", "z": n * 10}


FIRST = {
    "ts": 1,
    "i": 1,
    "j": 2,
    "l": 3,
    "f": 1.1,
    "g": 1.1,
    "d": 1.1,
    "dec": Decimal("1.25"),
    "s": "x",
    "date": DAY,
    "st": _item(1),
    "ar": [_item(1)],
    "m": [("k", _item(1))],
}


@dataclass(frozen=True)
class Change:
    """A batch that differs from BASE: columns in their order, values, and how to take it."""

    columns: Mapping[str, pa.DataType]
    values: Mapping[str, Any]
    options: Mapping[str, str] = field(default_factory=dict)

    def rows(self, ts: int, *keys: tuple[str, str]) -> pa.Table:
        """A row for each key and partition."""
        values = {**FIRST, **self.values, "ts": ts}
        rows = [{**values, "id": key, "p": part} for key, part in keys]
        return pa.Table.from_pylist(rows, schema=pa.schema(list(self.columns.items())))


def _with(**columns: pa.DataType) -> dict[str, pa.DataType]:
    return {**BASE, **columns}


def _before(name: str, columns: Mapping[str, pa.DataType], **new: pa.DataType) -> dict[str, Any]:
    found: dict[str, pa.DataType] = {}
    for each, kind in columns.items():
        found.update(new if each == name else {})
        found[each] = kind
    return found


def _without(*names: str) -> dict[str, pa.DataType]:
    return {name: kind for name, kind in BASE.items() if name not in names}


MORE = pa.struct([("a", pa.int32()), ("z", pa.int32()), ("b", pa.string())])
LESS = pa.struct([("b", pa.string())])
LARGE = 2**40

CHANGES = {
    "wider": Change(
        _with(i=pa.int64(), j=pa.string(), l=pa.float64(), f=pa.float64(), g=pa.string()),
        {"i": LARGE, "j": "word", "l": 0.5, "f": 0.1, "g": "word"},
    ),
    "narrower": Change(
        _with(l=pa.int32(), d=pa.float32(), g=pa.int32(), s=pa.int64(), dec=pa.decimal128(8, 1)),
        {"l": 5, "d": 0.5, "g": 7, "s": 12, "dec": Decimal("5.5")},
    ),
    "more": Change(
        _before("id", _before("f", _with(st=MORE, ar=pa.list_(MORE)), new=pa.int32()), top=ITEM),
        {"new": 7, "top": _item(7)},
    ),
    "fewer": Change(
        _before("l", {k: LESS if k == "st" else v for k, v in _without("d").items()}, new=ITEM),
        {"new": _item(8)},
        NULL,
    ),
    "reconciled": Change(
        _before("l", _with(st=MORE, m=pa.map_(pa.string(), MORE)), new=pa.int32()),
        {"new": 7},
        RECONCILE,
    ),
    "dropped": Change(_before("l", _without("d", "ar"), new=pa.int32()), {"new": 7}, DROP),
}
START = Change(BASE, {})
KEYS = (("k1", "x"), ("k2", "x"), ("k3", "y"))


@pytest.fixture(params=CHANGES)
def change(request: pytest.FixtureRequest) -> Change:
    return CHANGES[request.param]


@pytest.fixture(scope="module")
def starts(hudi: RealHudi, spark: SparkSession, tmp_path_factory) -> tuple[Path, Path]:
    """The table that Hudi starts and the one that we start."""
    folder = tmp_path_factory.mktemp(f"starts-{hudi.version}")
    rows = START.rows(1, *KEYS)
    hudi.write(folder / "theirs", rows, "insert", options=OPTIONS, mode="overwrite")
    ours.write(spark, folder / "ours", rows, "insert", OPTIONS)
    return folder / "theirs", folder / "ours"


def test_both_come_to_the_same_schema_and_rows_and_continue_each_others_table(
    change: Change, starts: tuple[Path, Path], hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    theirs = Path(shutil.copytree(starts[0], tmp_path / "theirs"))
    own = Path(shutil.copytree(starts[1], tmp_path / "ours"))
    rows = change.rows(2, ("k1", "x"), ("k4", "x"))
    options = {**OPTIONS, **change.options}
    hudi.write(theirs, rows, "upsert", options=options)
    ours.write(spark, own, rows, "upsert", options)
    assert_same_columns(hudi, theirs, own)
    by_hudi = user_columns(hudi.read(own))
    assert_same_rows(by_hudi, user_columns(hudi.read(theirs)))
    assert_same_rows(user_columns(ours.read(own)), by_hudi)
    assert_same_rows(user_columns(ours.read(theirs)), by_hudi)

    # The file groups of partition y still have the columns of the start.
    more = change.rows(3, ("k2", "x"), ("k3", "y"), ("k5", "y"))
    hudi.write(own, more, "upsert", options=options)
    ours.write(spark, theirs, more, "upsert", options)
    assert_same_columns(hudi, theirs, own)
    by_hudi = user_columns(hudi.read(theirs))
    assert_same_rows(user_columns(ours.read(own)), by_hudi)
    assert_same_rows(user_columns(ours.read(theirs)), by_hudi)
    assert hudi.failures(theirs, exercise=False) == []


def assert_same_columns(hudi: RealHudi, theirs: Path, own: Path) -> None:
    """Both tables have the schema that we resolve, in the order of Hudi 1.1."""
    found = {path: avro_to_arrow(json.loads(_avro(hudi, path))) for path in (theirs, own)}
    if hudi.version.startswith("1."):
        assert found[theirs] == found[own]
    # Hudi 0.15 takes the batch's order of columns.
    assert _sorted(found[theirs]) == _sorted(found[own])
    assert pyhudi.read_table(str(own)).schema.names[5:] == found[own].names


def _avro(hudi: RealHudi, table: Path) -> str:
    text: str = hudi.ask("schema", table=str(table))["avro"]
    return text


def _sorted(kind: Any) -> str:
    """A schema or type as text, struct fields by name."""
    if isinstance(kind, pa.Schema) or pa.types.is_struct(kind):
        return str(sorted((each.name, each.nullable, _sorted(each.type)) for each in kind))
    if pa.types.is_list(kind):
        return f"list {_sorted(kind.value_type)}"
    return f"map {_sorted(kind.item_type)}" if pa.types.is_map(kind) else str(kind)


def test_earlier_states_and_changes_read_across_the_change_as_in_hudi(
    starts: tuple[Path, Path], hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(starts[1], tmp_path / "ours"))
    first = hudi.timeline(own)[-1]["requested"]
    change = CHANGES["more"]
    ours.write(spark, own, change.rows(2, ("k1", "x"), ("k4", "x")), "upsert", OPTIONS)
    before = ours.read(own, as_of=first)
    assert_same_rows(before, hudi.read(own, as_of=first))
    assert "new" not in before[0]
    since = ours.read(own, begin=first, query_type="incremental")
    assert_same_rows(since, hudi.read(own, begin=first))
    assert [row["new"] for row in since] == [7, 7]


def test_hudi_continues_a_table_from_which_failed_records_were_left_out(
    starts: tuple[Path, Path], hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    own = Path(shutil.copytree(starts[1], tmp_path / "ours"))
    change = Change(_with(date=pa.string()), {"date": "2026-01-05"})
    bad = Change(_with(date=pa.string()), {"date": "never"})
    batch = pa.concat_tables([change.rows(2, ("k1", "x")), bad.rows(2, ("k7", "x"))])
    report = {
        "pyhudi.write.error.policy": "report",
        "pyhudi.write.error.path": str(tmp_path / "failed"),
    }
    assert ours.write(spark, own, batch, "upsert", {**OPTIONS, **report}).records["failed"] == 1
    by_hudi = hudi.read(own)
    assert_same_rows(ours.read(own), by_hudi)
    assert _dates(by_hudi) == {"k1": "2026-01-05", "k2": str(DAY), "k3": str(DAY)}
    hudi.write(own, START.rows(3, ("k2", "x"), ("k7", "x")), "upsert", options=OPTIONS)
    assert_same_rows(ours.read(own), hudi.read(own))
    assert hudi.failures(own, exercise=False) == []


def _dates(rows: list[Row]) -> dict[str, str]:
    return {row["id"]: row["date"] for row in rows}
