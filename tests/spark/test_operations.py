"""What each operation leaves of a table: overwrites, deleted partitions, inserts of known keys."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import pyhudi
from pyhudi.errors import (
    ConflictError,
    OptionError,
    RecordKeyError,
    RequestError,
    TableNotFoundError,
)
from pyhudi.jobs import JobResult, UpsertRequest
from pyhudi.schema.codec import read_container
from pyhudi.spark.writing import run_upsert
from pyhudi.transaction.clustering import pending_clustering_groups
from tests.support.golden import golden_table
from tests.support.orders import OPTIONS, SCHEMA, many, orders, rows_of, tuples, write
from tests.support.spark import spark  # noqa: F401 - a fixture

pytestmark = pytest.mark.spark

FIRST = many(range(9), 1, "old", parts=3)
IN_P0 = orders(("k0000", "p0", 2, "new"), ("new", "p0", 2, "new"))
OTHERS = [row for row in tuples(FIRST) if row[1] != "p0"]
NOTHING = orders()
DROPS = {"hoodie.datasource.write.insert.drop.duplicates": "true"}


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:  # noqa: F811 - the fixture
    path = tmp_path / "table"
    write(spark, path, FIRST, "insert")
    return path


def replaced_at(table: Path, instant: str | None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((table / ".hoodie" / f"{instant}.replacecommit").read_text())
    return found


def delete_partitions(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
    partitions: str,
    more: Mapping[str, str] | None = None,
) -> JobResult:
    return run_upsert(
        spark,
        UpsertRequest(
            base_path=str(table),
            operation="delete_partition",
            partitions_to_delete=partitions,
            hoodie_conf=more or {},
        ),
    )


def test_insert_overwrite_replaces_the_partitions_of_the_batch(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    before = pyhudi.open_table(str(table)).timeline.last
    result = write(spark, table, IN_P0, "insert_overwrite")
    assert rows_of(table) == sorted([*tuples(IN_P0), *OTHERS])
    assert rows_of(table, as_of=before.time) == tuples(FIRST)
    changed = rows_of(table, query_type="incremental", begin=before.time)
    assert changed == tuples(IN_P0)
    assert result.files == {"created": 1, "rewritten": 0, "appended": 0, "replaced": 1}
    assert (result.partitions, result.records["inserted"]) == (("p0",), 2)


def test_a_replacecommit_says_what_hudi_says(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    instant = write(spark, table, IN_P0, "insert_overwrite").instant
    done = replaced_at(table, instant)
    assert done["operationType"] == "INSERT_OVERWRITE"
    assert list(done["partitionToReplaceFileIds"]) == ["p0"]
    folder = table / ".hoodie"
    intent = json.loads((folder / f"{instant}.replacecommit.inflight").read_text())
    assert intent["partitionToWriteStats"]["p0"][0]["numInserts"] == 2
    (asked,) = read_container((folder / f"{instant}.replacecommit.requested").read_bytes())
    assert set(asked.values()) == {None}


def test_later_writes_leave_replaced_file_groups_alone(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    write(spark, table, IN_P0, "insert_overwrite")
    write(spark, table, orders(("k0003", "p0", 3, "back")))
    assert rows_of(table) == sorted([*tuples(IN_P0), ("k0003", "p0", 3, "back"), *OTHERS])
    write(spark, table, many(range(9), 4, "all", parts=3), "insert_overwrite")
    assert rows_of(table) == tuples(many(range(9), 4, "all", parts=3))


def test_insert_overwrite_table_leaves_the_batch_alone(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    result = write(spark, table, IN_P0, "insert_overwrite_table")
    assert rows_of(table) == tuples(IN_P0)
    assert result.partitions == ("p0", "p1", "p2")
    write(spark, table, NOTHING, "insert_overwrite_table")
    assert rows_of(table) == []
    write(spark, table, FIRST)
    assert rows_of(table) == tuples(FIRST)


def test_an_overwrite_without_rows_replaces_nothing(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    assert write(spark, table, NOTHING, "insert_overwrite").status == "nothing_to_do"
    assert rows_of(table) == tuples(FIRST)


def test_an_overwrite_makes_the_table_there_is_none_of(
    spark: SparkSession,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    assert write(spark, tmp_path / "t", IN_P0, "insert_overwrite").files["replaced"] == 0
    assert rows_of(tmp_path / "t") == tuples(IN_P0)


def test_static_partitions_are_replaced_instead_of_those_in_the_batch(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    static = {"hoodie.static.overwrite.partition.paths": "p1,p9"}
    write(spark, table, orders(("new", "p0", 2, "new")), "insert_overwrite", {**OPTIONS, **static})
    wanted = [row for row in tuples(FIRST) if row[1] != "p1"]
    assert rows_of(table) == sorted([("new", "p0", 2, "new"), *wanted])
    write(
        spark,
        table,
        NOTHING,
        "insert_overwrite",
        {**OPTIONS, **static | {"hoodie.static.overwrite.partition.paths": "p2"}},
    )
    assert {row[1] for row in rows_of(table)} == {"p0"}


@pytest.mark.parametrize("overwrite", ["insert_overwrite", "insert_overwrite_table"])
def test_a_bulk_insert_can_overwrite(
    overwrite: str,
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    options = {**OPTIONS, "hoodie.bulkinsert.overwrite.operation.type": overwrite}
    result = write(spark, table, IN_P0, "bulk_insert", options)
    kept = OTHERS if overwrite == "insert_overwrite" else []
    assert rows_of(table) == sorted([*tuples(IN_P0), *kept])
    assert replaced_at(table, result.instant)["operationType"] == overwrite.upper()


def test_delete_partition_needs_no_rows(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    result = delete_partitions(spark, table, "p0, nowhere")
    assert rows_of(table) == OTHERS
    assert (result.status, result.partitions, result.files["replaced"]) == ("committed", ("p0",), 1)
    done = replaced_at(table, result.instant)
    assert (done["operationType"], done["partitionToWriteStats"]) == ("DELETE_PARTITION", {})
    assert delete_partitions(spark, table, "p0").status == "nothing_to_do"
    assert delete_partitions(spark, table, "nowhere").status == "nothing_to_do"
    assert delete_partitions(spark, table, "p*").files["replaced"] == 2
    assert rows_of(table) == []


def test_delete_partition_takes_the_partitions_of_rows(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    write(spark, table, IN_P0.select(["id", "part"]), "delete_partition")
    assert rows_of(table) == OTHERS


def test_a_deleted_partition_is_deleted_once_for_a_key(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    key = {"pyhudi.idempotency.key": "run-1"}
    first = delete_partitions(spark, table, "p0", key)
    write(spark, table, IN_P0)
    again = delete_partitions(spark, table, "p0", key)
    assert (again.status, again.instant) == ("already_committed", first.instant)
    assert (again.partitions, again.files["replaced"]) == (("p0",), 1)
    assert rows_of(table) == sorted([*tuples(IN_P0), *OTHERS])


def test_what_cannot_be_deleted_is_refused(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
    tmp_path: Path,
) -> None:
    with pytest.raises(TableNotFoundError):
        delete_partitions(spark, tmp_path / "none", "p0")
    for operation in ("delete_partition", "upsert"):
        with pytest.raises(OptionError, match="there is no source"):
            run_upsert(spark, UpsertRequest(base_path=str(table), operation=operation))
    with pytest.raises(RequestError):
        write(spark, table, IN_P0.select(["id"]), "delete")
    assert rows_of(table) == tuples(FIRST)


def test_a_delete_takes_the_keys_that_are_there(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    keys = orders(("k0000", "p0", 0, ""), ("k0001", "p0", 0, ""), ("k0002", "p2", 0, ""))
    result = write(spark, table, keys.select(["id", "part"]), "delete")
    assert result.records["deleted"] == 2
    gone = {("k0000", "p0"), ("k0002", "p2")}
    assert rows_of(table) == [row for row in tuples(FIRST) if row[:2] not in gone]
    assert write(spark, table, keys, "delete").status == "nothing_to_do"
    elsewhere = orders(("k0003", "p9", 0, ""))
    assert write(spark, table, elsewhere, "delete").status == "nothing_to_do"


@pytest.mark.parametrize("operation", ["insert", "upsert", "bulk_insert"])
def test_rows_whose_key_is_known_are_left_out(
    operation: str,
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    batch = orders(("k0000", "p0", 9, "x"), ("k0000", "p1", 9, "x"), ("n", "p0", 8, "x"))
    twice = orders(*tuples(batch), ("n", "p0", 9, "higher"))
    write(spark, table, twice, operation, {**OPTIONS, **DROPS})
    fresh = [("k0000", "p1", 9, "x"), ("n", "p0", 9, "higher")]
    assert rows_of(table) == sorted([*tuples(FIRST), *fresh])
    assert write(spark, table, batch, operation, {**OPTIONS, **DROPS}).status == "nothing_to_do"


def test_an_insert_of_known_keys_can_fail(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    options = {**OPTIONS, "hoodie.datasource.insert.dup.policy": "fail"}
    with pytest.raises(RecordKeyError, match="1 rows have keys that the table has already"):
        write(spark, table, IN_P0, "insert", options)
    assert rows_of(table) == tuples(FIRST)
    assert not list((table / ".hoodie").glob("*.rollback"))
    write(spark, table, orders(("n", "p0", 1, "x")), "insert", options)
    assert len(rows_of(table)) == 10


def test_an_empty_commit_is_made_when_asked_for(
    spark: SparkSession,  # noqa: F811 - the fixture
    table: Path,
) -> None:
    assert write(spark, table, NOTHING).status == "nothing_to_do"
    options = {**OPTIONS, "hoodie.allow.empty.commit": "true"}
    for operation in ("upsert", "insert", "bulk_insert", "delete", "insert_overwrite"):
        result = write(spark, table, NOTHING, operation, options)
        assert result.status == "committed", operation
    assert rows_of(table) == tuples(FIRST)
    assert pyhudi.open_table(str(table)).schema().names[5:] == SCHEMA.names


SORTED = {"hoodie.combine.before.insert": "true", "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"}


@pytest.mark.parametrize("sort_mode", ["GLOBAL_SORT", "PARTITION_SORT"])
def test_a_sorted_bulk_insert_can_combine(
    sort_mode: str,
    spark: SparkSession,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    table = tmp_path / "table"
    batch = orders(
        *(("b", "x", ts, f"{ts}") for ts in (2, 4, 3)),
        *(("a", "x", 1, "tie"), ("a", "x", 1, "last of a tie"), ("b", "y", 1, "elsewhere")),
    )
    options = {**OPTIONS, **SORTED, "hoodie.bulkinsert.sort.mode": sort_mode}
    result = write(spark, table, batch, "bulk_insert", options)
    wanted = [("a", "x", 1, "last of a tie"), ("b", "x", 4, "4"), ("b", "y", 1, "elsewhere")]
    assert rows_of(table) == wanted
    assert result.records["inserted"] == 3


def test_a_sorted_bulk_insert_makes_files_of_the_wanted_size(
    spark: SparkSession,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    """However many tasks the sort would have had."""
    table, target = tmp_path / "table", 200_000
    values = [hashlib.sha256(str(number).encode()).hexdigest() * 4 for number in range(8000)]
    batch = orders(*((f"k{n:05d}", f"p{n % 3}", n, values[n]) for n in range(8000)))
    options = {
        **OPTIONS,
        "hoodie.parquet.max.file.size": str(target),
        "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
    }
    write(spark, table, batch, "bulk_insert", options)
    sizes = [path.stat().st_size for path in table.glob("p*/*.parquet")]
    assert len(sizes) <= 3 + sum(sizes) / target * 2
    assert max(sizes) < 2 * target


def test_file_groups_under_a_pending_clustering_are_not_replaced(
    spark: SparkSession,  # noqa: F811 - the fixture
    tmp_path: Path,
) -> None:
    path = tmp_path / "table"
    shutil.copytree(golden_table("v6_cow_pending_clustering"), path)
    table = pyhudi.open_table(str(path))
    claimed = pending_clustering_groups(table.storage, table.config.version, table.timeline)
    before = pyhudi.read_table(str(path))
    for partition in sorted({where for where, _ in claimed}):
        with pytest.raises(ConflictError, match="pending clustering"):
            delete_partitions(spark, path, partition)
    assert claimed
    assert pyhudi.read_table(str(path)).equals(before)
    assert table.timeline.pending().instants == (
        pyhudi.open_table(str(path)).timeline.pending().instants
    )
