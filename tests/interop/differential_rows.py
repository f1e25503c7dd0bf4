"""Columns and values for the randomised comparison with real Hudi, all drawn from one source."""

import datetime as dt
import decimal
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pyarrow as pa

UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
WORDS = ("", "a", "x y", "50%", "späße", "日本 🎈", "a,b:c", 'qu"ote', "line\nbreak", "\\", "NULL")

Draw = Callable[[Random], Any]


def _timestamp(rng: Random) -> dt.datetime:
    return EPOCH + dt.timedelta(microseconds=rng.randrange(-(10**15), 10**16))


def _decimal(digits: int, scale: int) -> Draw:
    def draw(rng: Random) -> decimal.Decimal:
        limit = 10 ** rng.randint(1, digits)
        return decimal.Decimal(rng.randrange(-limit + 1, limit)).scaleb(-scale)

    return draw


def _point(rng: Random) -> dict[str, Any] | None:
    if rng.random() < 0.2:
        return None
    return {"x": maybe(rng, rng.uniform(-9, 9)), "label": maybe(rng, rng.choice(WORDS))}


def maybe(rng: Random, value: Any, share: float = 0.25) -> Any:
    """The value, or null in that share of cases."""
    return None if rng.random() < share else value


POINT = pa.struct([("x", pa.float64()), ("label", pa.string())])


def _words(rng: Random, most: int) -> list[str]:
    return rng.sample(WORDS, rng.randint(0, most))


def _points(rng: Random) -> list[dict[str, Any]]:
    return [point for _ in range(rng.randrange(3)) if (point := _point(rng))]


def _scores(rng: Random) -> list[tuple[str, Any]]:
    return [(word, maybe(rng, rng.randrange(9))) for word in _words(rng, 2)]


def _place(rng: Random) -> dict[str, Any]:
    return {"at": _point(rng), "floor": maybe(rng, rng.randrange(-3, 90))}


def _day(rng: Random, first: int, last: int) -> dt.date:
    return dt.date(1970, 1, 1) + dt.timedelta(rng.randint(first, last))


def _id(rng: Random) -> str:
    return f"{rng.choice(('k', 'Ä', 'a b', '日', 'x:y,z'))}{rng.randrange(40)}"


COLUMNS: Mapping[str, tuple[pa.DataType, Draw]] = {
    "flag": (pa.bool_(), lambda rng: rng.random() < 0.5),
    "count": (pa.int32(), lambda rng: rng.choice((0, -1, 2**31 - 1, -(2**31), rng.randrange(99)))),
    "total": (pa.int64(), lambda rng: rng.choice((0, 2**63 - 1, -(2**63), rng.randrange(10**9)))),
    "ratio": (pa.float32(), lambda rng: rng.choice((0.0, -0.0, float("nan"), 1.5, -1e30))),
    "share": (pa.float64(), lambda rng: rng.choice((float("inf"), 1e-300, rng.uniform(-1, 1)))),
    "price": (pa.decimal128(9, 2), _decimal(9, 2)),
    "wide": (pa.decimal128(38, 10), _decimal(38, 10)),
    "note": (pa.string(), lambda rng: rng.choice(WORDS)),
    "body": (pa.binary(), lambda rng: rng.randbytes(rng.randrange(5))),
    "born": (pa.date32(), lambda rng: _day(rng, -9999, 9999)),
    "seen": (pa.timestamp("us", tz="UTC"), _timestamp),
    "tags": (pa.list_(pa.string()), lambda rng: _words(rng, 3)),
    "points": (pa.list_(POINT), _points),
    "scores": (pa.map_(pa.string(), pa.int64()), _scores),
    "place": (pa.struct([("at", POINT), ("floor", pa.int32())]), _place),
}
"""Plain columns by name: any of them may be in a table, and any value may be null."""

KEY_COLUMNS: Mapping[str, tuple[pa.DataType, Draw]] = {
    "id": (pa.string(), _id),
    "number": (pa.int64(), lambda rng: rng.choice((-1, 1)) * rng.randrange(60)),
    "line": (pa.int32(), lambda rng: rng.randrange(50)),
    "day": (pa.date32(), lambda rng: _day(rng, -12, 47)),
    "amount": (pa.decimal128(9, 2), lambda rng: decimal.Decimal(rng.randrange(-30, 60)) / 4),
    "yes": (pa.bool_(), lambda rng: rng.random() < 0.5),
}
"""Columns that may be part of a record key."""

ORDERING_COLUMNS: Mapping[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "ts": (pa.int64(), lambda tick: tick),
    "version": (pa.int32(), lambda tick: tick),
    "weight": (pa.float64(), lambda tick: tick / 4),
    "stamp": (pa.string(), lambda tick: f"v{tick:09d}"),
    "updated": (pa.timestamp("us", tz="UTC"), lambda tick: EPOCH + dt.timedelta(seconds=tick)),
    "on": (pa.date32(), lambda tick: dt.date(2000, 1, 1) + dt.timedelta(tick)),
}
"""Ordering columns, each with its value at a tick of the case's clock."""

PARTITION_COLUMNS: Mapping[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "region": (pa.string(), ("asia", "europe", "africa", None)),
    "odd": (pa.string(), ("a b", "50%", "x=y", "c/d", "e:f", "späße", "日本", "[g]", "#?*", None)),
    "year": (pa.int32(), (2024, 2025, -1)),
    "month": (pa.date32(), (dt.date(2026, 1, 1), dt.date(2026, 2, 1), None)),
}
"""Partition columns with their values."""
