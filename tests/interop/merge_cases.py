"""Batches that put every rule of merging to the test: each key is a case of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

MODEL = "org.apache.hudi.common.model."
OVERWRITE = f"{MODEL}OverwriteWithLatestAvroPayload"
EVENT_TIME = f"{MODEL}DefaultHoodieRecordPayload"
EVENT_TIME_AVRO = f"{MODEL}EventTimeAvroPayload"
PARTIAL = f"{MODEL}PartialUpdateAvroPayload"
NON_DEFAULTS = f"{MODEL}OverwriteNonDefaultsWithLatestAvroPayload"
DMS = f"{MODEL}AWSDmsAvroPayload"

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("a", pa.string()),
        ("b", pa.int32()),
        ("s", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("Op", pa.string()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)
OPTIONS = {
    "hoodie.table.name": "merged",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": (
        "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    ),
    "hoodie.write.table.version": "6",
    "hoodie.metadata.enable": "false",
}
BY_TS = {"hoodie.datasource.write.precombine.field": "ts"}
MARKER = {"hoodie.payload.delete.field": "Op", "hoodie.payload.delete.marker": "D"}

Line = tuple[object, ...]
OLD, INNER = ("s", 1, {"x": 1, "y": "s"}), {"x": None, "y": "i"}
# What an incoming row does to its key, and the ordering values beside the stored 5.
WAYS: Mapping[str, tuple[object, ...]] = {
    "replaces": ("i", 2, INNER, "U", False),
    "fills": (None, 2, None, "U", False),
    "deletes": ("i", 2, INNER, "U", True),
    "says D": ("i", 2, INNER, "D", False),
    "says d": ("i", 2, INNER, "d", None),
}
TIMES = {"newer": 7, "equal": 5, "older": 3}
# Rows of one key in one batch, in order: ordering value, a, b, Op, deleted.
SERIES: Mapping[str, tuple[tuple[object, ...], ...]] = {
    "newest first": ((7, "x", None, "1", False), (6, None, 2, None, False)),
    "newest last": ((6, None, 2, None, False), (7, "x", None, "1", False)),
    "equal": ((6, "x", None, "1", False), (6, None, 2, None, False)),
    "gap between": (
        (8, None, None, "1", False),
        (6, "x", 1, None, False),
        (7, "y", 2, None, False),
    ),
    "delete then older": ((7, "gone", 2, "U", True), (6, "x", 2, "U", False)),
    "older then delete": ((6, "x", 2, "U", False), (7, "gone", 2, "U", True)),
    "delete then newer": ((6, "gone", 2, "U", True), (7, "x", 2, "U", False)),
    "newer then delete": ((7, "x", 2, "U", False), (6, "gone", 2, "U", True)),
    "D then older": ((7, "gone", 2, "D", False), (6, "x", 2, "U", False)),
    "older d then newer": ((6, "gone", 2, "d", False), (7, "x", 2, "U", False)),
}


def rows(lines: Iterable[Line]) -> pa.Table:
    """Rows of SCHEMA."""
    values = [dict(zip(SCHEMA.names, line, strict=True)) for line in lines]
    return pa.Table.from_pylist(values, schema=SCHEMA)


def stored() -> pa.Table:
    """The rows that the others meet."""
    keys = [f"{way} {when}" for way in WAYS for when in TIMES] + [*SERIES, "untouched"]
    return rows((key, 5, *OLD, "I", None) for key in keys)


def incoming() -> pa.Table:
    """Every way at every time, and every series for a stored key and for a new one."""
    lines: list[Line] = [
        (f"{way} {when}", ts, *values) for way, values in WAYS.items() for when, ts in TIMES.items()
    ]
    for prefix in ("", "new: "):
        for name, series in SERIES.items():
            lines += [(prefix + name, ts, a, b, INNER, op, gone) for ts, a, b, op, gone in series]
    lines += [(f"new: {way}", 5, *values) for way, values in WAYS.items()]
    return rows(lines)


def afterwards() -> pa.Table:
    """A batch for the other writer to go on with."""
    return rows(
        [
            ("fills newer", 9, "z", None, None, "U", None),
            ("replaces older", 4, None, 9, INNER, "U", None),
            ("untouched", 6, None, None, None, "D", None),
            ("new: equal", 9, None, None, None, "U", True),
            ("last", 1, "z", None, None, "U", None),
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A rule, and the keys of which a release makes something else than we do.

    ``unlike`` has the beginnings of these keys for 0.15, None where it has no such rule, and
    ``unlike_11`` those for 1.1.
    """

    options: Mapping[str, str]
    unlike: tuple[str, ...] | None = field(default=())
    unlike_11: tuple[str, ...] = ()


def payload(name: str) -> dict[str, str]:
    """The option that asks for a payload class."""
    return {"hoodie.datasource.write.payload.class": name}


def mode(name: str) -> dict[str, str]:
    """The option that asks for a merge mode."""
    return {"hoodie.write.record.merge.mode": name}


# 1.1 takes the order of arrival where 0.15 combines by ordering value.
_BY_ARRIVAL = tuple(f"{new}{name}" for new in ("", "new: ") for name in SERIES)
CASES: Mapping[str, Case] = {
    "overwrite": Case(options={**payload(OVERWRITE), **BY_TS}, unlike_11=_BY_ARRIVAL),
    "event time": Case(options={**payload(EVENT_TIME), **BY_TS}),
    # An older delete wins in 0.15.
    "event time avro": Case(
        options={**payload(EVENT_TIME_AVRO), **BY_TS}, unlike=("deletes older",)
    ),
    "partial": Case(options={**payload(PARTIAL), **BY_TS}),
    "non-defaults": Case(options={**payload(NON_DEFAULTS), **BY_TS}),
    "dms": Case(options={**payload(DMS), **BY_TS}),
    # 0.15 orders by ts where no field is named, knows no modes, and takes a marker for the only
    # sign of a delete.
    "event time unordered": Case(options=payload(EVENT_TIME), unlike=None),
    "partial unordered": Case(options=payload(PARTIAL), unlike=None),
    "non-defaults unordered": Case(options=payload(NON_DEFAULTS), unlike=None),
    "dms unordered": Case(options=payload(DMS), unlike=None),
    "no rule": Case(options=BY_TS, unlike=None),
    "no rule, no order": Case(options={}, unlike=None),
    "commit time mode": Case(options={**mode("COMMIT_TIME_ORDERING"), **BY_TS}, unlike=None),
    "event time mode": Case(
        options={**mode("EVENT_TIME_ORDERING"), **BY_TS, **MARKER}, unlike=None
    ),
    "overwrite, marker": Case(
        options={**payload(OVERWRITE), **BY_TS, **MARKER}, unlike=None, unlike_11=_BY_ARRIVAL
    ),
}
