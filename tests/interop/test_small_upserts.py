"""Thirty small upserts into one partition leave files of the wanted size, as they do in Hudi."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pytest

from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns

FULL, SMALL = 200_000, 160_000
OPTIONS = {
    "hoodie.table.name": "small_upserts",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.write.table.version": "6",
    "hoodie.metadata.enable": "false",
    "hoodie.index.bloom.num_entries": "200",
    "hoodie.parquet.max.file.size": str(FULL),
    "hoodie.parquet.small.file.limit": str(SMALL),
    "hoodie.copyonwrite.record.size.estimate": "400",
}
ROUNDS, ROWS = 30, 150


def batch(number: int) -> pa.Table:
    """New keys, and a few that the last batch brought."""
    keys = range(number * ROWS - (10 if number else 0), (number + 1) * ROWS)
    # Texts that no codec makes much smaller.
    texts = [
        "".join(hashlib.sha256(f"{k} {n}".encode()).hexdigest() for n in "abcde") for k in keys
    ]
    return pa.table(
        {
            "id": pa.array([f"key-{key:06d}" for key in keys]),
            "part": pa.array(["only"] * len(keys)),
            "ts": pa.array([number] * len(keys), pa.int64()),
            "text": pa.array(texts),
        }
    )


def test_thirty_small_upserts_make_no_heap_of_small_files(hudi: RealHudi, spark, tmp_path) -> None:
    if hudi.version.startswith("0."):
        pytest.skip("once is enough: both releases share the rule")
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for number in range(ROUNDS):
        rows = batch(number)
        hudi.write(theirs, rows, options=OPTIONS, mode="append" if number else "overwrite")
        ours.write(spark, mine, rows, "upsert", OPTIONS)
    sizes, wanted = latest_sizes(hudi, mine), latest_sizes(hudi, theirs)
    told = f"ours {sizes}, Hudi's {wanted}"
    assert sum(size < SMALL for size in sizes) <= 1, told
    assert max(sizes) <= 1.3 * FULL, told
    assert len(sizes) <= len(wanted) + 1, told
    assert sum(sizes) / len(sizes) >= 0.8 * sum(wanted) / len(wanted), told
    assert_same_rows(user_columns(hudi.read(mine)), user_columns(hudi.read(theirs)))


def latest_sizes(hudi: RealHudi, table: Path) -> list[int]:
    return sorted(found["size_bytes"] for found in hudi.slices(table))
