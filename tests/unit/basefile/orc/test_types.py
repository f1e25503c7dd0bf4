import datetime as dt

import pyarrow as pa
import pytest
from pyarrow import orc

from pyhudi.basefile.orc.types import (
    from_stored,
    has_wall_clocks,
    logical_type,
    stored_type,
    to_stored,
)
from pyhudi.errors import SchemaError

INSTANT, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
NOON = dt.datetime(2026, 7, 1, 12, 0, 0, 5, dt.timezone.utc)
NESTED = pa.map_(pa.string(), pa.list_(pa.struct([("at", INSTANT), ("l", LOCAL)])))


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (INSTANT, LOCAL),
        (pa.timestamp("ms", "UTC"), pa.timestamp("ms")),
        (LOCAL, pa.int64()),
        (pa.date32(), pa.date32()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.list_(LOCAL), pa.list_(pa.int64())),
    ],
)
def test_only_timestamps_are_stored_otherwise(kind: pa.DataType, stored: pa.DataType) -> None:
    assert stored_type(kind) == stored


def test_nested_columns_come_back_with_their_nulls() -> None:
    value = [("a", [{"at": NOON, "l": None}, None]), ("b", None), ("c", [])]
    column = pa.chunked_array([pa.array([value, None, [], value], NESTED)])
    for part in (column, column.slice(1, 3)):
        stored = to_stored(part, "c")
        assert stored.type == stored_type(NESTED)
        assert from_stored(stored.chunk(0), NESTED, None).to_pylist() == part.to_pylist()


def test_a_slice_of_structs_is_stored_without_the_rest() -> None:
    kind = pa.struct([("a", pa.int64())])
    column = pa.chunked_array([pa.array([{"a": n} for n in range(10)], kind).slice(5)])
    (chunk,) = to_stored(column, "c").chunks
    assert (chunk.offset, chunk.field(0).to_pylist()) == (0, [5, 6, 7, 8, 9])


def test_what_a_file_states_of_its_timestamps_holds() -> None:
    nanos = pa.timestamp("ns")
    assert logical_type(nanos, None) == INSTANT
    assert logical_type(nanos, pa.timestamp("ms", "UTC")) == pa.timestamp("ms", "UTC")
    assert logical_type(nanos, pa.string()) == INSTANT
    assert logical_type(pa.int64(), LOCAL) == LOCAL
    assert logical_type(pa.int64(), pa.int64()) == pa.int64()
    found = pa.struct([("x", nanos), ("y", pa.list_(pa.int64()))])
    stated = pa.struct([("y", pa.list_(LOCAL)), ("x", pa.timestamp("ms", "UTC"))])
    meant = pa.struct([("x", pa.timestamp("ms", "UTC")), ("y", pa.list_(LOCAL))])
    assert logical_type(found, stated) == meant


def test_instants_are_taken_from_the_writers_clock() -> None:
    wall_clock = pa.array([NOON.replace(tzinfo=None)], pa.timestamp("ns"))
    (at,) = from_stored(wall_clock, INSTANT, "Europe/Berlin").to_pylist()
    assert at == NOON - dt.timedelta(hours=2)
    local = wall_clock.cast(LOCAL).to_pylist()
    assert from_stored(wall_clock, LOCAL, "Europe/Berlin").to_pylist() == local
    assert has_wall_clocks(pa.list_(pa.timestamp("ns")))
    assert not has_wall_clocks(pa.timestamp("ns", "UTC"))


@pytest.mark.parametrize("seconds", [-9_223_372_036, 9_223_372_036])
def test_an_instant_beyond_nanoseconds_is_refused(seconds: int) -> None:
    last = pa.array([seconds * 10**6], pa.int64()).cast(INSTANT)
    sink = pa.BufferOutputStream()
    orc.write_table(pa.table({"at": to_stored(pa.chunked_array([last]), "at")}), sink)
    stored = orc.ORCFile(pa.BufferReader(sink.getvalue())).read()["at"].chunk(0)
    assert from_stored(stored, INSTANT, None).equals(last)
    beyond = pa.array([seconds * 10**6 + (1 if seconds > 0 else -1)], pa.int64()).cast(INSTANT)
    with pytest.raises(SchemaError, match="column at has timestamps between"):
        to_stored(pa.chunked_array([beyond]), "at")
