"""Tables of versions 8 and 9 that real Hudi writes: we read what it reads, in every query."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("ts", pa.int64()),
        ("seq", pa.int32()),
        ("name", pa.string()),
        ("qty", pa.int64()),
        ("Op", pa.string()),
        ("_event_lsn", pa.int64()),
        ("_change_operation_type", pa.string()),
    ]
)
_MODEL = "org.apache.hudi.common.model."
_WRITE = "hoodie.datasource.write."
OPTIONS = {
    "hoodie.table.name": "later",
    f"{_WRITE}recordkey.field": "id",
    f"{_WRITE}partitionpath.field": "part",
    f"{_WRITE}table.type": "MERGE_ON_READ",
    "hoodie.metadata.enable": "false",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.compact.inline": "false",
    "hoodie.compact.inline.max.delta.commits": "1",
}
BY_TS = {f"{_WRITE}precombine.field": "ts"}
RULES = {
    "event_time": BY_TS,
    "commit_time": {**BY_TS, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"},
    "two_fields": {f"{_WRITE}precombine.field": "ts,seq"},
    "partial_update": {**BY_TS, f"{_WRITE}payload.class": f"{_MODEL}PartialUpdateAvroPayload"},
    "non_defaults": {
        **BY_TS,
        f"{_WRITE}payload.class": f"{_MODEL}OverwriteNonDefaultsWithLatestAvroPayload",
    },
    "dms": {**BY_TS, f"{_WRITE}payload.class": f"{_MODEL}AWSDmsAvroPayload"},
    "postgres": {
        f"{_WRITE}precombine.field": "_event_lsn",
        f"{_WRITE}payload.class": f"{_MODEL}debezium.PostgresDebeziumAvroPayload",
    },
}
LATER = [("9", rule) for rule in RULES] + [("8", "event_time"), ("8", "commit_time")]


def batch(draw: random.Random, keys: range) -> pa.Table:
    """Rows of some keys, newer and older than what is stored, with nulls and deletes."""
    rows = []
    for key in draw.sample(list(keys), len(keys)):
        at = draw.randint(1, 9)
        rows.append(
            {
                "id": f"k{key}",
                "part": f"p{key % 2}",
                "ts": at,
                "seq": draw.randint(1, 3),
                "name": draw.choice([None, "a", "b", "__debezium_unavailable_value"]),
                "qty": draw.choice([None, draw.randint(0, 99)]),
                "Op": draw.choice(["I", "U", "U", "D"]),
                "_event_lsn": at,
                "_change_operation_type": draw.choice(["c", "u", "u", "d"]),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize(("version", "rule"), LATER)
def test_we_read_what_hudi_merges_and_when(
    version: str, rule: str, hudi: RealHudi, tmp_path: Path
) -> None:
    if hudi.version == "0.15.0":
        pytest.skip("it knows version 6 alone")
    draw, table = random.Random(f"{version} {rule}"), tmp_path / "table"
    always = {**OPTIONS, **RULES[rule], "hoodie.write.table.version": version}
    compacting = {**always, "hoodie.compact.inline": "true"}
    steps = [
        ("upsert", range(5, 25), always),
        ("upsert", range(3, 12), always),
        ("delete", range(4), always),
        ("upsert", range(2, 9), compacting),
        ("upsert", range(6, 14), always),
        ("upsert", range(8, 30), always),
    ]
    hudi.write(table, batch(draw, range(20)), "insert", options=always, mode="overwrite")
    for operation, keys, options in steps:
        hudi.write(table, batch(draw, keys), operation, options=options)
        assert_same_rows(ours.read(table), hudi.read(table))
    assert_same_rows(
        ours.read(table, query_type="read_optimized"), hudi.read(table, optimized=True)
    )
    done = [each for each in hudi.timeline(table) if each["state"] == "COMPLETED"]
    for instant in done[::2]:
        found = ours.read(table, as_of=instant["requested"])
        assert_same_rows(found, hudi.read(table, as_of=instant["requested"]))
    ends = sorted(each["completed"] for each in done)
    for begin, end in [(ends[0], None), (ends[2], ends[5]), (ends[4], ends[5]), (ends[5], None)]:
        found = ours.read(table, query_type="incremental", begin=begin, end=end)
        wanted = hudi.read(table, begin=begin, end=end)
        assert_same_rows(user_columns(found), user_columns(wanted))
