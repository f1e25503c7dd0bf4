"""The log side of a slice: one record a key, by each rule."""

import datetime
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi.config.options.logs import DEFAULT_MEMORY, MergeMemory
from pyhudi.config.options.merging import DeleteMarker, MergeMode
from pyhudi.errors import CorruptTableError, StorageError
from pyhudi.logfile.deletes.blocks import Deletes, OrderingKind
from pyhudi.logfile.merge import records
from pyhudi.logfile.merge.log_records import LogRecords
from pyhudi.logfile.merge.records import merge_log_records
from pyhudi.merge.rule import MergeRule
from tests.support.log_files import array_deletes, deletes
from tests.support.tasks import COMMIT_TIME, EVENT_TIME, PARTIAL

SCHEMA = pa.schema([("key", pa.string()), ("ts", pa.int64()), ("name", pa.string())])
NON_DEFAULTS = MergeRule(mode=MergeMode.NON_DEFAULTS, defaults={"ts": 0})
CUSTOM = MergeRule(mode=MergeMode.CUSTOM, merger=f"{__name__}:KeepsTheLonger")
MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
RULES = (EVENT_TIME, COMMIT_TIME, PARTIAL, NON_DEFAULTS, CUSTOM)


def table(*rows: tuple) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * 3
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def finals(*keys: str) -> Deletes:
    return deletes(*((key, OrderingKind.INT, 0) for key in keys))


def at(key: str, ts: int) -> Deletes:
    return deletes((key, OrderingKind.LONG, ts))


def merged(
    rule: MergeRule, *parts: pa.Table | Deletes, schema=SCHEMA, memory: MergeMemory = DEFAULT_MEMORY
) -> LogRecords:
    return merge_log_records(parts, schema, lambda rows: rows.column("key"), rule, memory)


def texts(found: LogRecords) -> dict[str, str]:
    """What each key comes to: a row's values, or that it is deleted."""
    lines = {}
    for key, row, is_delete, is_final in zip(
        found.keys.to_pylist(), found.rows.to_pylist(), found.is_delete, found.is_final, strict=True
    ):
        lines[key] = f"{row['ts']} {row['name']}" if not is_delete else f"gone {is_final}"
    return lines


def test_nothing_comes_to_nothing() -> None:
    found = merged(EVENT_TIME)
    assert (len(found), found.rows.schema) == (0, SCHEMA)


def test_rows_without_a_key_are_told() -> None:
    with pytest.raises(CorruptTableError, match="1 rows of a log file have no record key"):
        merged(EVENT_TIME, table((None, 1, "x"), ("a", 1, "x")))


def test_deletes_with_ordering_values_are_weighed_others_are_final() -> None:
    parts = [table(("a", 9, "x"), ("b", 9, "x"), ("c", 9, "x")), at("a", 8), at("b", 9)]
    found = texts(merged(EVENT_TIME, *parts, finals("c")))
    assert found == {"a": "9 x", "b": "gone False", "c": "gone True"}


def test_a_delete_whose_value_is_of_another_type_is_final() -> None:
    found = merged(EVENT_TIME, table(("a", 9, "x")), deletes(("a", OrderingKind.INT, 5)))
    assert texts(found) == {"a": "gone True"}
    found = merged(EVENT_TIME, deletes(("a", OrderingKind.NONE, None)))
    assert texts(found) == {"a": "gone True"}


@pytest.mark.parametrize(
    ("kind", "column", "delete", "row"),
    [
        (OrderingKind.INT, pa.int32(), 5, 6),
        (OrderingKind.LONG, pa.int64(), 0, 1),
        (OrderingKind.DOUBLE, pa.float64(), 0.5, 0.6),
        (OrderingKind.FLOAT, pa.float32(), 0.5, 0.75),
        (OrderingKind.STRING, pa.string(), "a", "b"),
        (OrderingKind.DATE, pa.date32(), datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)),
        (OrderingKind.DECIMAL, pa.decimal128(9, 2), Decimal("1.50"), Decimal("1.51")),
        (OrderingKind.LONG, pa.timestamp("us", "UTC"), 5, 6),
        (OrderingKind.TIMESTAMP_MICROS, pa.timestamp("us", "UTC"), MOMENT, MOMENT + DAY),
        (OrderingKind.BOOLEAN, pa.bool_(), False, True),
    ],
)
def test_ordering_values_of_each_type_compare(
    kind: OrderingKind, column: pa.DataType, delete: object, row: object
) -> None:
    schema = pa.schema([("key", pa.string()), ("ts", column), ("name", pa.string())])
    rows = pa.table([["a"], pa.array([row], column), ["x"]], schema=schema)
    older = merged(EVENT_TIME, rows, deletes(("a", kind, delete)), schema=schema)
    assert older.is_delete.tolist() == [False]
    same = pa.table([["a"], pa.array([delete], column), ["x"]], schema=schema)
    newer = merged(EVENT_TIME, same, deletes(("a", kind, delete)), schema=schema)
    assert (newer.is_delete.tolist(), newer.is_final.tolist()) == ([True], [False])


def test_deletes_with_several_ordering_values_are_weighed() -> None:
    rule = MergeRule(mode=MergeMode.EVENT_TIME, ordering_fields=("ts", "name"))
    rows = table(("a", 5, "m"), ("b", 5, "m"), ("c", 5, "m"), ("d", 5, "m"), ("e", 5, "m"))
    kinds = (OrderingKind.LONG, OrderingKind.STRING)
    given = {"a": (4, "z"), "b": (5, "l"), "c": (5, "m"), "d": (6, "a")}
    weighed = array_deletes(
        *((key, list(zip(kinds, values, strict=True))) for key, values in given.items())
    )
    found = texts(merged(rule, rows, weighed, finals("e")))
    assert found == {"a": "5 m", "b": "5 m", "c": "gone False", "d": "gone False", "e": "gone True"}


def test_deletes_without_a_key_are_told() -> None:
    with pytest.raises(CorruptTableError, match="1 deletes of a log file have no record key"):
        merged(EVENT_TIME, deletes((None, OrderingKind.LONG, 1), ("a", OrderingKind.LONG, 1)))


def test_rows_that_delete_are_weighed_by_their_ordering_value() -> None:
    rule = MergeRule(
        mode=MergeMode.EVENT_TIME,
        ordering_fields=("ts",),
        delete_marker=DeleteMarker(field="name", value="D"),
    )
    parts = [table(("a", 5, "x"), ("b", 5, "x")), table(("a", 4, "D"), ("b", 5, "D"))]
    assert texts(merged(rule, *parts)) == {"a": "5 x", "b": "gone False"}


def test_nothing_is_joined_with_what_was_deleted() -> None:
    parts = [table(("a", 1, "x"), ("b", 1, "x")), finals("a", "b"), table(("a", 0, None))]
    assert texts(merged(PARTIAL, *parts)) == {"a": "0 None", "b": "gone True"}
    assert texts(merged(PARTIAL, table(("a", 9, "x")), at("a", 1))) == {"a": "gone True"}


def test_default_values_are_filled_from_the_row_before() -> None:
    parts = [table(("a", 7, "x")), table(("a", 0, None)), table(("a", 0, "y"))]
    assert texts(merged(NON_DEFAULTS, *parts)) == {"a": "7 y"}


class KeepsTheLonger:
    """Keeps the row of the longer name; the name "bye" deletes."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        old, new = older.column("name").to_pylist(), newer.column("name").to_pylist()
        keeps = [
            len(before or "") > len(after or "") for before, after in zip(old, new, strict=True)
        ]
        gone = pa.array([name == "bye" for name in new])
        position = newer.schema.get_field_index("_hoodie_is_deleted")
        answered = newer.set_column(position, "_hoodie_is_deleted", gone)
        return answered.append_column("_pyhudi_keeps_older", pa.array(keeps))


def random_parts(chance: random.Random, rule: MergeRule) -> list[pa.Table | Deletes]:
    parts: list[pa.Table | Deletes] = []
    for _ in range(12):
        keys = chance.sample("abcdefgh", 3)
        rows = [(key, chance.randint(0, 5), chance.choice(["x", "y", None])) for key in keys]
        parts += [table(*rows), chance.choice([finals, lambda key: at(key, 3)])(keys[0])]
    return parts


@pytest.mark.parametrize("rule", [EVENT_TIME, COMMIT_TIME, PARTIAL], ids=lambda r: r.mode.name)
@pytest.mark.parametrize("seed", range(20))
def test_records_that_are_merged_as_they_come_are_the_same(rule: MergeRule, seed: int, monkeypatch):
    chance = random.Random(seed)
    parts = random_parts(chance, rule)
    at_once = texts(merged(rule, *parts))
    monkeypatch.setattr(records, "WAITING_RECORDS", chance.randint(1, 9))
    assert texts(merged(rule, *parts)) == at_once


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.mode.name)
@pytest.mark.parametrize("seed", range(20))
def test_records_that_wait_on_disk_are_the_same(rule: MergeRule, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    parts = random_parts(chance, rule)
    memory = MergeMemory(limit_bytes=chance.choice([0, 200, 1_000, 3_000]), folder=str(tmp_path))
    found = merged(rule, *parts, memory=memory)
    assert texts(found) == texts(merged(rule, *parts))
    assert found.rows.schema == SCHEMA
    assert found.rows.num_rows == len(found)
    assert list(tmp_path.iterdir()) == []


def test_what_memory_has_room_for_is_not_put_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("put on disk")

    monkeypatch.setattr(records, "KeyedSpill", fail)
    # Each key changes often: one record of it stays.
    parts = [table(("a", ts, "x" * 100), ("b", ts, "y" * 100)) for ts in range(100)]
    found = merged(EVENT_TIME, *parts, memory=MergeMemory(limit_bytes=4_000))
    assert texts(found) == {"a": "99 " + "x" * 100, "b": "99 " + "y" * 100}


def test_a_failure_leaves_nothing_on_disk(tmp_path: Path) -> None:
    parts = [table(("a", 1, "x")), table(("b", 1, "x")), table((None, 1, "x"))]
    memory = MergeMemory(limit_bytes=0, folder=str(tmp_path))
    with pytest.raises(CorruptTableError):
        merged(EVENT_TIME, *parts, memory=memory)
    assert list(tmp_path.iterdir()) == []
    missing = MergeMemory(limit_bytes=0, folder=str(tmp_path / "no"))
    with pytest.raises(StorageError, match="another folder"):
        merged(EVENT_TIME, *parts[:2], memory=missing)


def test_a_merger_in_python_joins_rows_and_never_meets_a_delete_record() -> None:
    parts = [
        table(("a", 1, "long"), ("b", 1, "x"), ("c", 1, "x")),
        finals("c"),
        table(("a", 2, "new"), ("b", 2, "bye")),
        table(("b", 3, "y"), ("c", 3, "z")),
    ]
    assert texts(merged(CUSTOM, *parts)) == {"a": "1 long", "b": "3 y", "c": "3 z"}
