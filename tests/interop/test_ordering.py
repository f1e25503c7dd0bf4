"""Several records of one key, and records that come late: the same winner as in real Hudi."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns

SCHEMA = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("value", pa.string())])
OPTIONS = {
    "hoodie.table.name": "late",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.write.table.version": "6",
    "hoodie.metadata.enable": "false",
}
EVENT_TIME = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
COMMIT_TIME = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"


def rows(*values: tuple[str, int, str]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, each, strict=True)) for each in values], schema=SCHEMA
    )


STEPS = (
    (
        "upsert",
        rows(("a", 5, "a5"), ("a", 7, "a7"), ("a", 6, "a6"), ("b", 5, "b5"), ("c", 5, "c5")),
    ),
    ("upsert", rows(("a", 6, "late"), ("b", 5, "tie"), ("c", 6, "newer"), ("d", 1, "new"))),
    ("delete", rows(("c", 1, "gone, however old the request"))),
    ("upsert", rows(("c", 2, "back"), ("d", 0, "late again"))),
)
WINNERS = {
    EVENT_TIME: rows(("a", 7, "a7"), ("b", 5, "tie"), ("c", 2, "back"), ("d", 1, "new")),
    COMMIT_TIME: rows(("a", 6, "late"), ("b", 5, "tie"), ("c", 2, "back"), ("d", 0, "late again")),
}


@pytest.mark.parametrize("payload", WINNERS, ids=["event_time", "commit_time"])
def test_each_key_ends_with_the_record_that_hudi_keeps(
    payload: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    options = {**OPTIONS, "hoodie.datasource.write.payload.class": payload}
    mine, theirs, mixed = tmp_path / "mine", tmp_path / "theirs", tmp_path / "mixed"
    for step, (operation, batch) in enumerate(STEPS):
        mode = "append" if step else "overwrite"
        hudi.write(theirs, batch, operation, options=options, mode=mode)
        ours.write(spark, mine, batch, operation, options)
        if step % 2:
            hudi.write(mixed, batch, operation)
        else:
            ours.write(spark, mixed, batch, operation, options)
    wanted = user_columns(hudi.read(theirs))
    assert_same_rows(user_columns(ours.read(theirs)), wanted)
    assert_same_rows(user_columns(hudi.read(mine)), wanted)
    assert_same_rows(user_columns(hudi.read(mixed)), wanted)
    assert_same_rows(user_columns(ours.read(mine)), ours_rows(WINNERS[payload]))


def ours_rows(table: pa.Table) -> list[dict[str, object]]:
    return table.to_pylist()


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_inserts_keep_or_combine_duplicates_as_hudi_does(
    operation: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    batch = rows(("a", 1, "first"), ("a", 2, "second"), ("b", 1, "only"))
    for combine in ("false", "true"):
        options = {
            **OPTIONS,
            "hoodie.datasource.write.payload.class": EVENT_TIME,
            "hoodie.combine.before.insert": combine,
        }
        mine, theirs = tmp_path / f"mine-{combine}", tmp_path / f"theirs-{combine}"
        hudi.write(theirs, batch, operation, options=options, mode="overwrite")
        ours.write(spark, mine, batch, operation, options)
        wanted = user_columns(hudi.read(theirs))
        assert_same_rows(user_columns(hudi.read(mine)), wanted)
        assert_same_rows(user_columns(ours.read(mine)), wanted)
