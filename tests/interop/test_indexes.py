"""Each index against real Hudi: the same batches leave the same rows, in the same places."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from pyhudi.filegroup.names import hash_bucket_of
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import Row

SCHEMA = pa.schema({"id": pa.string(), "part": pa.string(), "ts": pa.int64(), "v": pa.string()})
BASE = {
    "hoodie.table.name": "indexes",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.payload.class": (
        "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
    ),
    "hoodie.write.table.version": "6",
    "hoodie.index.bloom.num_entries": "200",
    "hoodie.metadata.enable": "false",
}
STAYS = {
    "hoodie.simple.index.update.partition.path": "false",
    "hoodie.bloom.index.update.partition.path": "false",
}
BUCKETS = {"hoodie.bucket.index.num.buckets": "3"}
CASES: dict[str, dict[str, str]] = {
    "GLOBAL_SIMPLE": {},
    "GLOBAL_BLOOM": {},
    "GLOBAL_SIMPLE stays": STAYS,
    "BLOOM": {},
    "BUCKET": BUCKETS,
}
KEYS = [*(f"k{number}" for number in range(8)), "ключ", "日本\U0001f600", "a,b"]


def lines(*rows: tuple[str, str, int, str]) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


FIRST = lines(*((key, f"p{at % 3}", 5, "first") for at, key in enumerate(KEYS)))
# To other partitions, newer and older; in place; twice in the batch; new keys, once in two places.
SECOND = lines(
    ("k0", "p1", 9, "newer"),
    ("k1", "p2", 1, "older"),
    ("k2", "p2", 9, "in place"),
    ("k3", "p0", 1, "older in place"),
    ("k4", "p3", 7, "one"),
    ("k4", "p0", 8, "two"),
    ("n1", "p0", 1, "one"),
    ("n1", "p3", 2, "two"),
    ("n2", "p1", 1, "new"),
    ("日本\U0001f600", "p0", 6, "newer"),
)
THIRD = lines(("k0", "p0", 10, "back"), ("k5", "p1", 6, "moves"), ("n2", "p2", 0, "older"))
GONE = lines(("k6", "p0", 0, ""), ("k1", "p7", 0, ""))
STEPS = ((SECOND, "upsert"), (GONE, "delete"), (THIRD, "upsert"))


def seen(rows: list[Row]) -> list[tuple[Any, ...]]:
    """Every row with the partition that holds it."""
    names = ("_hoodie_partition_path", *SCHEMA.names)
    return sorted(tuple(row[name] for name in names) for row in rows)


def buckets(rows: list[Row]) -> dict[tuple[str, str], int | None]:
    """The bucket that holds each key of each partition."""
    return {
        (row["_hoodie_partition_path"], row["id"]): hash_bucket_of(row["_hoodie_file_name"])
        for row in rows
    }


@pytest.mark.parametrize("case", CASES)
def test_an_index_of_ours_and_of_hudi_leave_the_same_table(
    case: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    options = {**BASE, "hoodie.index.type": case.split()[0], **CASES[case]}
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    ours.write(spark, mine, FIRST, "upsert", options)
    hudi.write(theirs, FIRST, "upsert", options=options)
    # The second table changes hands at every step, the first at every other.
    for number, (batch, operation) in enumerate(STEPS):
        ours.write(spark, theirs, batch, operation, options)
        if number % 2:
            ours.write(spark, mine, batch, operation, options)
        else:
            hudi.write(mine, batch, operation, options=options)
        in_files = seen(ours.read(mine))
        assert seen(ours.read(theirs)) == in_files, operation
        # Hudi shows the folder's value of a partition column, whatever the row says.
        by_hudi = sorted((row[0], row[1], row[0], *row[3:]) for row in in_files)
        assert seen(hudi.read(mine)) == by_hudi, operation
        assert seen(hudi.read(theirs)) == by_hudi, operation
        if "stays" not in case:
            assert by_hudi == in_files, operation
    if case == "BUCKET":
        assert buckets(ours.read(mine)) == buckets(ours.read(theirs))
        assert None not in buckets(ours.read(mine)).values()


@pytest.mark.parametrize(
    ("keys", "hash_field"), [("id,part", ""), ("id,part", "id"), ("part,id", "id")]
)
def test_complex_keys_are_in_the_buckets_where_hudi_puts_them(
    keys: str, hash_field: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    options = {
        **BASE,
        "hoodie.datasource.write.recordkey.field": keys,
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "7",
        **({"hoodie.bucket.index.hash.field": hash_field} if hash_field else {}),
    }
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    # 0.15 takes a complex key apart at every comma, and new tables go by 1.x.
    has_commas = pc.match_substring(FIRST["id"], ",")
    first = FIRST.filter(pc.invert(has_commas)) if hudi.version == "0.15.0" else FIRST
    ours.write(spark, mine, first, "bulk_insert", options)
    hudi.write(theirs, first, "insert", options=options)
    assert buckets(ours.read(mine)) == buckets(ours.read(theirs))
    hudi.write(mine, SECOND, "upsert", options=options)
    ours.write(spark, theirs, SECOND, "upsert", options)
    assert seen(hudi.read(mine)) == seen(hudi.read(theirs))
    assert buckets(ours.read(mine)) == buckets(ours.read(theirs))
    assert len(hudi.slices(mine)) == len(hudi.slices(theirs))
