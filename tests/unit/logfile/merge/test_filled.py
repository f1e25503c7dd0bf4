"""Records that lack values, held against Hudi's rules record by record."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.config.options.logs import DEFAULT_MEMORY, MergeMemory
from pyhudi.config.options.merging import MergeMode, PartialUpdate
from pyhudi.errors import UnsupportedError
from pyhudi.logfile.deletes.blocks import Deletes, OrderingKind
from pyhudi.logfile.merge import records as module
from pyhudi.logfile.merge.records import merge_log_records
from pyhudi.logfile.merge.rows import merged_parts
from pyhudi.merge.partial import Filling, noted, with_presence
from pyhudi.merge.rule import MergeRule
from tests.support.log_files import deletes

SCHEMA = pa.schema(
    [
        ("_hoodie_commit_time", pa.string()),
        ("key", pa.string()),
        ("ts", pa.int64()),
        ("name", pa.string()),
        ("qty", pa.int64()),
    ]
)
LOST = "?"
OPTIONAL = ("name", "qty")
KINDS = {
    PartialUpdate.KEEP_VALUES: Filling(kind=PartialUpdate.KEEP_VALUES),
    PartialUpdate.IGNORE_DEFAULTS: Filling(kind=PartialUpdate.IGNORE_DEFAULTS, defaults={"qty": 7}),
    PartialUpdate.FILL_UNAVAILABLE: Filling(kind=PartialUpdate.FILL_UNAVAILABLE, unavailable=LOST),
}
MODES = (MergeMode.COMMIT_TIME, MergeMode.EVENT_TIME)


@dataclass(frozen=True, kw_only=True)
class Record:
    """A row, or a delete, which has no ``ts`` where it is final."""

    at: str
    ts: int | None
    name: str | None = None
    qty: int | None = None
    present: tuple[str, ...] = OPTIONAL
    is_delete: bool = False


def lacks(record: Record, column: str, kind: PartialUpdate) -> bool:
    value = getattr(record, column)
    if kind is PartialUpdate.KEEP_VALUES:
        return column not in record.present
    if kind is PartialUpdate.FILL_UNAVAILABLE:
        return value == LOST
    return value == (7 if column == "qty" else None)


def filled(first: Record, other: Record, kind: PartialUpdate) -> Record:
    """partialMerge of PartialUpdateHandler, and of KEEP_VALUES."""
    if first.is_delete or other.is_delete:
        return first
    taken = {column: getattr(other, column) for column in OPTIONAL if lacks(first, column, kind)}
    return replace(first, **taken, present=tuple({*first.present, *other.present}))


def joined(old: Record, new: Record, mode: MergeMode, kind: PartialUpdate) -> Record:
    """deltaMerge and finalMerge of the mergers in BufferedRecordMergerFactory."""
    if mode is MergeMode.COMMIT_TIME:
        return filled(new, old, kind)
    if new.is_delete:
        is_old_final = old.is_delete and old.ts is None
        stays = is_old_final or (new.ts is not None and old.ts is not None and old.ts > new.ts)
        return old if stays else new
    is_newer = old.ts is None or new.ts is None or new.ts >= old.ts
    return filled(new, old, kind) if is_newer else filled(old, new, kind)


def histories(seed: int) -> dict[str, list[Record]]:
    """Records by key, in the order of their arrival."""
    draw = random.Random(seed)

    def record(at: int) -> Record:
        if draw.random() < 0.25:
            return Record(at=str(at), ts=draw.choice((None, 1, 2, 3)), is_delete=True)
        return Record(
            at=str(at),
            ts=draw.choice((1, 2, 3)),
            name=draw.choice((None, LOST, "a", "b")),
            qty=draw.choice((None, 0, 7)),
            present=draw.choice((OPTIONAL, ("name",), ("qty",), ())),
        )

    return {f"k{key}": [record(at) for at in range(draw.randint(1, 5))] for key in range(60)}


def parts_of(found: dict[str, list[Record]], schema: pa.Schema) -> Iterator[pa.Table | Deletes]:
    """A block for each kind of record, and for the records that arrive together."""
    for at in range(5):
        arrived = [(key, own[at]) for key, own in found.items() if len(own) > at]
        for present in (OPTIONAL, ("name",), ("qty",), ()):
            rows = [(k, r) for k, r in arrived if not r.is_delete and r.present == present]
            if rows:
                yield table_of(rows, schema, present)
        gone = [(k, r) for k, r in arrived if r.is_delete]
        if gone:
            yield deletes(
                *(
                    (k, OrderingKind.INT, 0) if r.ts is None else (k, OrderingKind.LONG, r.ts)
                    for k, r in gone
                )
            )


def table_of(
    rows: list[tuple[str, Record]], schema: pa.Schema, present: tuple[str, ...] = OPTIONAL
) -> pa.Table:
    plain = pa.Table.from_pylist(
        [
            {
                "_hoodie_commit_time": r.at,
                "key": key,
                "ts": r.ts,
                "name": r.name if "name" in present or len(schema) == len(SCHEMA) else None,
                "qty": r.qty if "qty" in present or len(schema) == len(SCHEMA) else None,
            }
            for key, r in rows
        ],
        SCHEMA,
    )
    return plain if len(schema) == len(SCHEMA) else noted(plain, OPTIONAL, present)


def rule_of(mode: MergeMode, kind: PartialUpdate) -> MergeRule:
    ordering = ("ts",) if mode is MergeMode.EVENT_TIME else ()
    return MergeRule(mode=mode, ordering_fields=ordering, filling=KINDS[kind])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.value)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_records_are_joined_as_hudi_joins_them(
    mode: MergeMode, kind: PartialUpdate, seed: int, monkeypatch
) -> None:
    found, rule = histories(seed), rule_of(mode, kind)
    if seed % 3 == 0:
        monkeypatch.setattr(module, "WAITING_RECORDS", 40)
    limit = 4_000 if seed % 3 == 1 else DEFAULT_MEMORY.limit_bytes
    is_kept = kind is PartialUpdate.KEEP_VALUES
    schema = with_presence(SCHEMA, [("key", "ts"), ("name",)])[0] if is_kept else SCHEMA
    schema = pa.schema([*SCHEMA, *list(schema)[len(SCHEMA) :][-2:]]) if is_kept else schema
    base = {key: own[0] for key, own in found.items() if not own[0].is_delete and seed % 2}
    if is_kept:
        base = {key: replace(own, present=OPTIONAL) for key, own in base.items()}
    logged = {key: own[1:] if key in base else own for key, own in found.items()}
    if kind is not PartialUpdate.KEEP_VALUES:
        logged = {k: [replace(r, present=OPTIONAL) for r in own] for k, own in logged.items()}
    records = merge_log_records(
        parts_of(logged, schema),
        schema,
        lambda rows: rows.column("key"),
        rule,
        MergeMemory(limit_bytes=limit),
    )
    stored = [table_of(sorted(base.items()), SCHEMA)] if base else []
    parts = merged_parts(stored, records, lambda rows: rows.column("key"), rule)
    rows = [row for part in parts for row in part.rows.to_pylist()]
    assert {row["key"]: row for row in rows} == expected(base, logged, mode, kind)
    assert len(rows) == len({row["key"] for row in rows})


def expected(base, logged, mode: MergeMode, kind: PartialUpdate) -> dict[str, dict]:
    result = {}
    for key in base.keys() | logged.keys():
        log: Record | None = None
        for record in logged.get(key, ()):
            known = (
                replace(record, **{c: None for c in OPTIONAL if c not in record.present})
                if kind is PartialUpdate.KEEP_VALUES
                else record
            )
            log = known if log is None else joined(log, known, mode, kind)
        if log is None:
            last = base.get(key)
        else:
            last = joined(base[key], log, mode, kind) if key in base else log
        if last is not None and not last.is_delete:
            result[key] = {
                "_hoodie_commit_time": last.at,
                "key": key,
                "ts": last.ts,
                "name": last.name,
                "qty": last.qty,
            }
    return result


def test_parts_of_rows_are_refused_where_a_rule_needs_whole_ones() -> None:
    schema, _ = with_presence(SCHEMA, [("key",)])
    with pytest.raises(UnsupportedError, match="hold parts of rows"):
        MergeRule(mode=MergeMode.NON_DEFAULTS).for_rows(schema)


def test_where_every_part_has_the_columns_asked_for_rows_are_whole() -> None:
    rule = MergeRule(mode=MergeMode.NON_DEFAULTS)
    schema, optional = with_presence(SCHEMA, [SCHEMA.names])
    assert (schema, optional, rule.for_rows(schema)) == (SCHEMA, (), rule)


def test_notes_of_nothing_are_no_columns() -> None:
    rows = noted(SCHEMA.empty_table(), ["qty"])
    assert rows.num_columns == len(SCHEMA) + 1
    assert np.array_equal(rows.column(" has qty").to_numpy(), [])
