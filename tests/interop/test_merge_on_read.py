"""Merge-on-read tables that real Hudi writes: we read what it reads, log files and all."""

from pathlib import Path

import pyarrow.compute as pc
import pytest

import pyhudi
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, rows_of, user_columns
from tests.interop.scenarios import SCENARIOS
from tests.interop.test_hudi_tables import payload

BY_NAME = {s.name: s for s in SCENARIOS}
MERGE_ON_READ = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.metadata.enable": "false",
    # Else updates of files this small are merged into new base files.
    "hoodie.parquet.small.file.limit": "0",
}
COMPACTED = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


@pytest.mark.parametrize("block", ["avro", "parquet"])
@pytest.mark.parametrize(
    "name", ["nonpartitioned", "two_hive_partitions", "every_type", "commit_time_ordering"]
)
def test_we_read_log_files_of_hudi(name: str, block: str, hudi: RealHudi, tmp_path: Path) -> None:
    """Updates newer and older than what is stored, deletes, keys that come back, a compaction."""
    if block == "parquet" and name != "two_hive_partitions":
        pytest.skip("the kind of block does not depend on this")
    scenario, table = BY_NAME[name], tmp_path / "table"
    always = {**MERGE_ON_READ, "hoodie.logfile.data.block.format": block, **payload(scenario)}
    steps = [
        ("upsert", scenario.batch(range(20, 40), 3), {}),
        ("upsert", scenario.batch(range(15, 25), 2), {}),
        ("delete", scenario.batch(range(5), 4), {}),
        ("upsert", scenario.batch(range(3, 12), 5), {}),
        ("upsert", scenario.batch(range(10, 14), 6), COMPACTED),
        ("upsert", scenario.batch(range(12, 16), 7), {}),
    ]
    first = scenario.batch(range(30), 1)
    options = {**scenario.options, **always}
    begin = hudi.write(table, first, scenario.operation, options=options, mode="overwrite")
    instants = [begin]
    for operation, rows, more in steps:
        instants.append(hudi.write(table, rows, operation, options={**always, **more}))
        assert_same_rows(ours.read(table), hudi.read(table))
    assert any(path.name.startswith(".") and ".log." in path.name for path in table.rglob("*"))
    for instant in instants:
        found, wanted = ours.read(table, as_of=instant), hudi.read(table, as_of=instant)
        assert_same_rows(found, wanted)
    changed = ours.read(table, query_type="incremental", begin=instants[2])
    assert_same_rows(user_columns(changed), user_columns(hudi.read(table, begin=instants[2])))


def test_what_hudi_rolled_back_is_not_read(hudi: RealHudi, tmp_path: Path) -> None:
    scenario, table = BY_NAME["two_hive_partitions"], tmp_path / "table"
    options = {**scenario.options, **MERGE_ON_READ, **payload(scenario)}
    hudi.write(table, scenario.batch(range(30), 1), "insert", options=options, mode="overwrite")
    hudi.write(table, scenario.batch(range(20), 2), "upsert", options=MERGE_ON_READ)
    before = hudi.read(table)
    undone = hudi.write(table, scenario.batch(range(10), 3), "upsert", options=MERGE_ON_READ)
    assert_same_rows(ours.read(table), hudi.read(table))
    assert hudi.ask("rollback", table=str(table), instant=undone)
    assert_same_rows(ours.read(table), before)
    assert_same_rows(hudi.read(table), before)


def test_columns_and_filters_see_merged_rows(hudi: RealHudi, tmp_path: Path) -> None:
    scenario, table = BY_NAME["nonpartitioned"], tmp_path / "table"
    options = {**scenario.options, **MERGE_ON_READ, **payload(scenario)}
    hudi.write(table, scenario.batch(range(30), 1), "insert", options=options, mode="overwrite")
    second = scenario.batch(range(20, 40), 5)
    hudi.write(table, second, "upsert", options=MERGE_ON_READ)
    oldest = pc.min(second.column("ts")).as_py()
    newer = pc.field("ts") >= oldest
    found = rows_of(pyhudi.read_table(table, columns=["id"], filters=newer))
    wanted = [{"id": row["id"]} for row in hudi.read(table) if int(row["ts"]) >= oldest]
    assert_same_rows(found, wanted)
    assert len(found) == 20


def test_of_two_log_records_under_commit_time_the_later_stands(hudi: RealHudi, tmp_path) -> None:
    """0.15 keeps the highest ordering value among them; see docs/decisions/0010-merge-rules.md."""
    scenario, table = BY_NAME["nonpartitioned"], tmp_path / "table"
    rule = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
    always = {
        **MERGE_ON_READ,
        "hoodie.datasource.write.payload.class": rule,
        "hoodie.compact.inline": "false",
    }
    first, options = scenario.batch(range(6), 1), {**scenario.options, **always}
    hudi.write(table, first, "insert", options=options, mode="overwrite")
    newest, late = scenario.batch(range(6), 7), scenario.batch(range(3), 5)
    hudi.write(table, newest, "upsert", options=always)
    hudi.write(table, late, "upsert", options=always)
    latest = {row["id"]: row for row in (*newest.to_pylist(), *late.to_pylist())}
    found = {row["id"]: row["ts"] for row in ours.read(table)}
    assert found == {key: row["ts"] for key, row in latest.items()}
    theirs = {row["id"]: row["ts"] for row in hudi.read(table)}
    if hudi.version == "0.15.0":
        assert theirs == {row["id"]: row["ts"] for row in newest.to_pylist()}
    else:
        assert theirs == found
