"""Rows that wait on disk, apart by their keys."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.logfile.merge.keyed_spill import PARTS, KeyedSpill

SCHEMA = pa.schema([("key", pa.string()), ("at", pa.int64())])


def test_rows_of_a_key_are_together_and_in_their_order(tmp_path: Path) -> None:
    chance = random.Random(1)
    keys = [f"key-{chance.randrange(2_000)}" for _ in range(10_000)]
    table = pa.table([keys, range(10_000)], schema=SCHEMA)
    spill = KeyedSpill(SCHEMA, "key", str(tmp_path))
    for start in range(0, 10_000, 900):
        spill.add(table.slice(start, 900))
    parts = list(spill.parts())
    spill.close()
    assert sum(map(len, [set(part.column("key").to_pylist()) for part in parts])) == len(set(keys))
    for part in parts:
        inner = part.column("at").to_pylist()
        assert inner == sorted(inner)
    assert pa.concat_tables(parts).sort_by("at") == table


def test_keys_are_spread_evenly(tmp_path: Path) -> None:
    count = 64_000
    for pattern in ("{:08d}", "order:{},1", "2026-01-01T00:00:00.{:06d}Z"):
        table = pa.table([[pattern.format(n) for n in range(count)], range(count)], schema=SCHEMA)
        spill = KeyedSpill(SCHEMA, "key", str(tmp_path))
        spill.add(table)
        sizes = pa.array([part.num_rows for part in spill.parts()])
        spill.close()
        assert len(sizes) == PARTS
        assert pc.max(sizes).as_py() < 2 * count / PARTS


def test_nothing_added_is_no_part(tmp_path: Path) -> None:
    spill = KeyedSpill(SCHEMA, "key", str(tmp_path))
    assert list(spill.parts()) == []
    spill.close()
