"""Tables of versions 8 and 9 that real Hudi writes: we read what it reads, in every query."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.test_written_later import VERSION_OF
from tests.support.orders import compact, write

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
        ("_event_bin_file", pa.string()),
        ("_event_pos", pa.int64()),
        ("_event_seq", pa.string()),
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
    "mysql": {
        f"{_WRITE}precombine.field": "_event_bin_file,_event_pos",
        f"{_WRITE}payload.class": f"{_MODEL}debezium.MySqlDebeziumAvroPayload",
    },
}
# Of version 8 not "postgres": there 1.1.1 forgets what it has filled in, and 1.0.2 does not.
IN_VERSION_8 = ("event_time", "commit_time", "partial_update", "dms", "mysql")
LATER = [("9", rule) for rule in RULES] + [("8", rule) for rule in IN_VERSION_8]


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
                "_event_bin_file": f"mysql-bin.{at // 4:06d}",
                "_event_pos": at % 4,
                "_event_seq": f"{at // 4:06d}.{at % 4}",
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
    if (version, rule) == ("8", "mysql"):
        always[f"{_WRITE}precombine.field"] = "_event_seq"
    compacting = {**always, "hoodie.compact.inline": "true"}
    steps = [
        ("upsert", range(5, 25), always),
        ("upsert", range(3, 12), always),
        ("delete", range(4), always),
        ("upsert", range(2, 9), compacting),
        ("upsert", range(6, 14), always),
        ("upsert", range(8, 30), always),
    ]
    first, mine = batch(draw, range(20)), tmp_path / "mine"
    hudi.write(table, first, "insert", options=always, mode="overwrite")
    write(mine, first, "insert", always)
    for operation, keys, options in steps:
        rows = batch(draw, keys)
        hudi.write(table, rows, operation, options=options)
        write(mine, rows, operation, always)
        if options is compacting:
            compact(mine, always, mode="schedule_and_execute")
        assert_same_rows(ours.read(table), hudi.read(table))
        assert_same_rows(user_columns(ours.read(mine)), user_columns(ours.read(table)))
    assert_same_rows(hudi.read(mine), ours.read(mine))
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


def test_what_postgres_did_not_send_is_taken_from_the_stored_row(
    later: RealHudi, tmp_path: Path
) -> None:
    table, version = tmp_path / "table", VERSION_OF[later.version]
    options = {**OPTIONS, **RULES["postgres"], "hoodie.write.table.version": version}
    unsent = "__debezium_unavailable_value"

    def events(*found: tuple[str, int, str | None]) -> pa.Table:
        rows = [
            {"id": key, "part": "p", "_event_lsn": lsn, "name": name, "_change_operation_type": "u"}
            for key, lsn, name in found
        ]
        return pa.Table.from_pylist(rows, SCHEMA)

    first = events(("filled", 5, "a"), ("older", 5, "b"), ("null", 5, "c"), ("sent", 5, "d"))
    write(table, first, "insert", options)
    second = events(("filled", 6, unsent), ("older", 4, "x"), ("null", 6, None), ("sent", 6, "y"))
    later.write(table, second, "upsert", options=options)
    assert_same_rows(ours.read(table), later.read(table))
    write(table, events(("filled", 7, unsent), ("sent", 7, unsent)), "upsert", options)
    assert_same_rows(ours.read(table), later.read(table))
    names = {row["id"]: row["name"] for row in ours.read(table)}
    assert names == {"filled": "a", "older": "b", "null": None, "sent": "y"}
