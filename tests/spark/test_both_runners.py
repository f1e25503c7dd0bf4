"""What Spark leaves of a table is what this process leaves of it: rows, commits and results."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.batch import matches
from pyhudi.schema.metafields import META_FIELDS
from tests.support import orders as here
from tests.support.golden import golden_copy
from tests.support.mergers import JOINING
from tests.support.orders import LOGGED, OPERATION, OPTIONS, commit_of, many, marked, orders
from tests.support.spark_orders import frame
from tests.support.tree import data_files

pytestmark = pytest.mark.spark

FIRST = many(range(9), 3, "old", parts=3)
LATER = many([3, 4], 4, "later", parts=3)
# Newer and older rows, and ties, of known and of new keys, in their own partitions and in others.
BATCH = (
    orders(
        *(("k0000", "p0", 9, "newer"), ("k0001", "p1", 1, "older"), ("k0003", "p0", 4, "tie")),
        *(("n1", "p0", 1, "first"), ("n2", "p9", 1, "lower"), ("k0002", "p1", 9, "moved")),
    ),
    orders(
        *(("n1", "p3", 2, "last"), ("n2", "p9", 1, "tie"), ("k0005", "p0", 1, "older elsewhere")),
        *(("k0003", "p0", 4, "last tie"), ("k0004", "p2", 9, ""), ("k0004", "p3", 9, "")),
    ),
)
SORT = "hoodie.bulkinsert.sort.mode"
COMBINED = {"hoodie.combine.before.insert": "true"}
INDEX = "hoodie.index.type"
BUCKETS = {INDEX: "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
MERGER = {"pyhudi.merge.custom.merger": JOINING}
# What differs from run to run, and what follows from the length of names.
OWN = {"fileId", "path", "baseFile", "logFiles", "logVersion", "logOffset"}
OWN |= {"totalWriteBytes", "fileSizeInBytes", "runtimeStats"}


@dataclass(frozen=True)
class Case:
    """An operation with its options, those of the table, and how many positions fit in memory."""

    operation: str
    options: Mapping[str, str] = field(default_factory=dict)
    made_with: Mapping[str, str] = field(default_factory=dict)
    most_rows_at_hand: int = matches.MOST_ROWS_AT_HAND


CASES = {
    **{name: Case(name) for name in ("upsert", "insert", "bulk_insert", "delete")},
    "insert_overwrite": Case("insert_overwrite"),
    "insert_overwrite_table": Case("insert_overwrite_table"),
    "delete_partition": Case("delete_partition"),
    **{name: Case("upsert", {INDEX: name}) for name in ("BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM")},
    "BUCKET": Case("upsert", BUCKETS, BUCKETS),
    "positions stay spread": Case("upsert", {INDEX: "GLOBAL_SIMPLE"}, most_rows_at_hand=0),
    "sorted": Case("bulk_insert", {SORT: "GLOBAL_SORT", **COMBINED}),
    "sorted within tasks": Case("bulk_insert", {SORT: "PARTITION_SORT"}),
    "a merger in Python": Case("upsert", MERGER, MERGER),
}


def stated(found: Any) -> Any:
    """What a commit says, but for ids, times, sizes and what stages took."""
    if isinstance(found, dict):
        return {
            key: stated(value)
            for key, value in found.items()
            if key not in OWN and "Time" not in key and key != "pyhudi.metrics"
        }
    return sorted(map(stated, found), key=repr) if isinstance(found, list) else found


def left_by(table: Path, result: JobResult, merger: str | None = None) -> tuple[object, ...]:
    """Rows, where they lie, what the commit says and what the job answers."""
    names = ["_hoodie_partition_path", *pyhudi.open_table(table).schema().names[len(META_FIELDS) :]]
    rows = pyhudi.read_table(table, columns=names, custom_merger=merger).to_pylist()
    commit = stated(commit_of(table, result.instant))
    commit.pop("partitionToReplaceFileIds", None)
    answer = (result.status, result.operation, result.records, result.files, result.partitions)
    return sorted(rows, key=repr), commit, answer, set(result.stages)


@pytest.mark.parametrize("options", [OPTIONS, LOGGED], ids=["copy on write", "merge on read"])
@pytest.mark.parametrize("name", CASES)
def test_an_operation_leaves_the_same_table_on_both(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: Mapping[str, str],
) -> None:
    case = CASES[name]
    first = tmp_path / "first"
    here.write(first, FIRST, "insert", {**options, **case.made_with})
    here.write(first, LATER, "upsert", {**options, **case.made_with})
    one, other = (Path(shutil.copytree(first, tmp_path / name / "t")) for name in "ab")
    monkeypatch.setattr(matches, "MOST_ROWS_AT_HAND", case.most_rows_at_hand)
    asked = {**options, **case.options}
    done = here.write(one, BATCH[0], case.operation, asked, BATCH[1])
    rows = frame(spark, BATCH[0], tmp_path).union(frame(spark, BATCH[1], tmp_path))
    on_spark = pyhudi.spark.write(rows, other, options={**asked, OPERATION: case.operation})
    merger = case.made_with.get("pyhudi.merge.custom.merger")
    assert left_by(other, on_spark, merger) == left_by(one, done, merger)
    assert done.status == "committed"


@pytest.mark.parametrize("kind", ["compaction", "log_compaction"])
def test_a_compaction_leaves_the_same_table_on_both(spark, tmp_path, kind: str) -> None:
    due, left = {**here.DUE, "hoodie.log.compaction.blocks.threshold": "2"}, []
    for name, compact in {"a": here.compact, "b": partial(pyhudi.spark.compact, spark)}.items():
        table = golden_copy("v6_mor_logs_avro", tmp_path / name)
        assert compact(table, mode="schedule", kind=kind, options=due).status == "scheduled"
        done = compact(table, mode="execute", kind=kind, options=due)
        assert compact(table, mode="execute", kind=kind).status == "nothing_to_do"
        left.append(left_by(table, done))
    assert left[0] == left[1]


def test_a_clean_deletes_the_same_files_on_both(spark, tmp_path: Path) -> None:
    """So many that they go in tasks."""
    first, left = tmp_path / "first", []
    options = {**OPTIONS, "hoodie.clean.automatic": "false"}
    for number in range(4):
        here.write(first, many(range(40), number, "", 20), "upsert", options)
    few = {"hoodie.clean.commits.retained": "1"}
    for name, clean in {"a": here.clean, "b": partial(pyhudi.spark.clean, spark)}.items():
        table = Path(shutil.copytree(first, tmp_path / name / "t"))
        planned = clean(table, options=few, dry_run=True)
        done = clean(table, options=few)
        assert (planned.files, done.files) == ({"planned": 40}, {"deleted": 40})
        left.append((data_files(table), done.bytes_deleted, planned.by_partition))
    assert left[0] == left[1]
    assert len(left[0][0]) == 40


def test_rows_marked_deleted_and_failed_ones_are_the_same_on_both(spark, tmp_path) -> None:
    keys = pa.array(["k0000", None, "k0001", "new"])
    rows = orders(*((f"{n}", "p0", 9, "") for n in range(4))).set_column(0, "id", keys)
    rows = marked(rows, True, True, None, True)
    first, left = tmp_path / "first", []
    here.write(first, marked(FIRST, *[None] * 9))
    for name in ("here", "spark"):
        table, failed = tmp_path / name / "t", tmp_path / name / "failed"
        shutil.copytree(first, table)
        options = {**OPTIONS, **here.report_to(failed)}
        if name == "here":
            done = here.write(table, rows, "upsert", options)
        else:
            done = pyhudi.spark.write(frame(spark, rows, tmp_path), table, options=options)
        saved = pq.read_table(failed).drop_columns(["instant"]).to_pylist()
        left.append((saved, done.failures["examples"], left_by(table, done)))
    assert left[0] == left[1]
    assert len(left[0][0]) == 1
