"""Log compaction through Spark, on copies of Hudi's tables and on our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.errors import RequestError
from pyhudi.jobs import CompactionRequest, JobResult
from pyhudi.spark.compaction import run_compaction
from tests.spark.test_compaction import MERGE_ON_READ
from tests.support.golden import expected_rows, golden_copy, row_texts
from tests.support.orders import many, rows_of, write

pytestmark = pytest.mark.spark

FEW = {"hoodie.log.compaction.blocks.threshold": "2"}
TABLE = "v6_mor_logs_avro"


def test_log_blocks_become_one_and_rows_stay(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy(TABLE, tmp_path)
    planned = pyhudi.spark.compact(
        spark, table, kind="log_compaction", mode="schedule", options=FEW
    )
    assert (planned.status, planned.operation) == ("scheduled", "log_compact")
    done = pyhudi.spark.compact(spark, table, kind="log_compaction", mode="execute")
    assert (done.status, done.instant) == ("committed", planned.instant)
    assert done.files["appended"] == len(done.partitions) > 0
    assert (done.files["created"], done.files["rewritten"]) == (0, 0)
    assert set(done.stages) == {"write", "commit"}
    assert row_texts(pyhudi.read_table(table)) == expected_rows(TABLE)
    commit = json.loads((table / ".hoodie" / f"{done.instant}.deltacommit").read_text())
    assert (commit["operationType"], commit["compacted"]) == ("LOG_COMPACT", True)
    again = pyhudi.spark.compact(spark, table, kind="log_compaction", options=FEW)
    assert (again.status, again.instant) == ("nothing_to_do", None)
    assert not list((table / ".hoodie" / ".heartbeat").iterdir())
    assert not list((table / ".hoodie" / ".temp").iterdir())


def test_a_request_is_carried_out_once(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy(TABLE, tmp_path)
    request = CompactionRequest(
        base_path=str(table),
        kind="log_compaction",
        hoodie_conf=FEW,
        commit_metadata={"team": "ops"},
        idempotency_key="once",
    )
    first, second = run_compaction(spark, request), run_compaction(spark, request)
    assert (first.status, second.status) == ("committed", "already_committed")
    assert (first.instant, first.records) == (second.instant, second.records)


def test_a_request_that_is_wrong_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = golden_copy(TABLE, tmp_path)
    before = sorted(path for path in table.rglob("*") if path.is_file())
    written = next((table / ".hoodie").glob("*.deltacommit")).stem
    for instant, why in (("20270101000000000", "there is no log"), (written, "not LOG_COMPACT")):
        with pytest.raises(RequestError, match=why):
            pyhudi.spark.compact(
                spark, table, kind="log_compaction", mode="execute", instant=instant
            )
    assert sorted(path for path in table.rglob("*") if path.is_file()) == before


def written(spark: SparkSession, table: Path, ts: int, **more: str) -> JobResult:
    """Some keys again, with more options."""
    options = {**MERGE_ON_READ, **{key.replace("_", "."): value for key, value in more.items()}}
    return write(spark, table, many(range(ts, 20), ts, f"v{ts}"), options=options)


@pytest.mark.parametrize("shape", [{}, {"hoodie_populate_meta_fields": "false"}])
def test_a_write_log_compacts_when_enough_blocks_have_gathered(
    shape: dict[str, str], spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "orders"
    inline = {
        "hoodie_log_compaction_inline": "true",
        "hoodie_log_compaction_blocks_threshold": "3",
    }
    counts = []
    for ts in range(1, 7):
        assert written(spark, table, ts, **inline, **shape).status == "committed"
        counts.append(len(list((table / ".hoodie").glob("*.logcompaction.requested"))))
    assert counts == [0, 0, 0, 1, 1, 2]
    rows = sorted((f"k{n:04d}", f"p{n % 2}", min(n, 6), f"v{min(n, 6)}") for n in range(1, 20))
    assert rows_of(table) == rows
    due = {"hoodie.compact.inline.max.delta.commits": "1"}
    assert pyhudi.spark.compact(spark, table, options=due).status == "committed"
    assert rows_of(table, query_type="read_optimized") == rows
