"""What overwrites and deletes of partitions leave of a table."""

import json
from pathlib import Path
from typing import Any

import pytest

import pyhudi
from pyhudi.errors import ConflictError, OptionError, RequestError, TableNotFoundError
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.schema.codec import read_container
from tests.support.golden import golden_copy
from tests.support.orders import OPTIONS, commit_of, many, orders, rows_of, tuples, write

FIRST = many(range(9), 1, "old", parts=3)
IN_P0 = orders(("k0000", "p0", 2, "new"), ("new", "p0", 2, "new"))
OTHERS = [row for row in tuples(FIRST) if row[1] != "p0"]
NOTHING = orders()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table"
    write(path, FIRST, "insert")
    return path


def delete_partitions(table: Path, partitions: str, **more: Any) -> JobResult:
    asked = {"operation": "delete_partition", "partitions_to_delete": partitions, **more}
    request = UpsertRequest(base_path=str(table), **asked)
    return write(table, None, "delete_partition", request.options())


def test_insert_overwrite_replaces_the_partitions_of_the_batch(table: Path) -> None:
    before = pyhudi.open_table(str(table)).timeline.last
    result = write(table, IN_P0, "insert_overwrite")
    assert rows_of(table) == sorted([*tuples(IN_P0), *OTHERS])
    assert rows_of(table, as_of=before.time) == tuples(FIRST)
    assert rows_of(table, query_type="incremental", begin=before.time) == tuples(IN_P0)
    assert result.files == {"created": 1, "rewritten": 0, "appended": 0, "replaced": 1}
    assert (result.partitions, result.records["inserted"]) == (("p0",), 2)


def test_a_replacecommit_says_what_hudi_says(table: Path) -> None:
    instant = write(table, IN_P0, "insert_overwrite").instant
    done = commit_of(table, instant)
    assert done["operationType"] == "INSERT_OVERWRITE"
    assert list(done["partitionToReplaceFileIds"]) == ["p0"]
    folder = table / ".hoodie"
    intent = json.loads((folder / f"{instant}.replacecommit.inflight").read_text())
    assert intent["partitionToWriteStats"]["p0"][0]["numInserts"] == 2
    (asked,) = read_container((folder / f"{instant}.replacecommit.requested").read_bytes())
    assert set(asked.values()) == {None}


def test_later_writes_leave_replaced_file_groups_alone(table: Path) -> None:
    write(table, IN_P0, "insert_overwrite")
    write(table, orders(("k0003", "p0", 3, "back")))
    assert rows_of(table) == sorted([*tuples(IN_P0), ("k0003", "p0", 3, "back"), *OTHERS])
    write(table, many(range(9), 4, "all", parts=3), "insert_overwrite")
    assert rows_of(table) == tuples(many(range(9), 4, "all", parts=3))


def test_insert_overwrite_table_leaves_the_batch_alone(table: Path) -> None:
    result = write(table, IN_P0, "insert_overwrite_table")
    assert rows_of(table) == tuples(IN_P0)
    assert result.partitions == ("p0", "p1", "p2")
    write(table, NOTHING, "insert_overwrite_table")
    assert rows_of(table) == []
    write(table, FIRST)
    assert rows_of(table) == tuples(FIRST)


def test_an_overwrite_without_rows_replaces_nothing(table: Path) -> None:
    assert write(table, NOTHING, "insert_overwrite").status == "nothing_to_do"
    assert rows_of(table) == tuples(FIRST)


def test_an_overwrite_makes_the_table_there_is_none_of(tmp_path: Path) -> None:
    assert write(tmp_path / "t", IN_P0, "insert_overwrite").files["replaced"] == 0
    assert rows_of(tmp_path / "t") == tuples(IN_P0)


def test_static_partitions_are_replaced_instead_of_those_in_the_batch(table: Path) -> None:
    def static(partitions: str) -> dict[str, str]:
        return {**OPTIONS, "hoodie.static.overwrite.partition.paths": partitions}

    found = write(table, orders(("new", "p0", 2, "new")), "insert_overwrite", static("p1,p9"))
    assert (found.partitions, found.files["replaced"]) == (("p0", "p1"), 1)
    wanted = [row for row in tuples(FIRST) if row[1] != "p1"]
    assert rows_of(table) == sorted([("new", "p0", 2, "new"), *wanted])
    write(table, NOTHING, "insert_overwrite", static("p2"))
    assert {row[1] for row in rows_of(table)} == {"p0"}


@pytest.mark.parametrize("overwrite", ["insert_overwrite", "insert_overwrite_table"])
def test_a_bulk_insert_can_overwrite(overwrite: str, table: Path) -> None:
    options = {**OPTIONS, "hoodie.bulkinsert.overwrite.operation.type": overwrite}
    result = write(table, IN_P0, "bulk_insert", options)
    kept = OTHERS if overwrite == "insert_overwrite" else []
    assert rows_of(table) == sorted([*tuples(IN_P0), *kept])
    assert commit_of(table, result.instant)["operationType"] == overwrite.upper()


def test_delete_partition_needs_no_rows(table: Path) -> None:
    result = delete_partitions(table, "p0, nowhere")
    assert rows_of(table) == OTHERS
    assert (result.status, result.partitions, result.files["replaced"]) == ("committed", ("p0",), 1)
    done = commit_of(table, result.instant)
    assert (done["operationType"], done["partitionToWriteStats"]) == ("DELETE_PARTITION", {})
    assert delete_partitions(table, "p0").status == "nothing_to_do"
    assert delete_partitions(table, "nowhere").status == "nothing_to_do"
    assert delete_partitions(table, "p*").files["replaced"] == 2
    assert rows_of(table) == []


def test_delete_partition_takes_the_partitions_of_rows(table: Path) -> None:
    write(table, IN_P0.select(["id", "part"]), "delete_partition")
    assert rows_of(table) == OTHERS


def test_a_deleted_partition_is_deleted_once_for_a_key(table: Path) -> None:
    first = delete_partitions(table, "p0", idempotency_key="run-1")
    write(table, IN_P0)
    again = delete_partitions(table, "p0", idempotency_key="run-1")
    assert (again.status, again.instant) == ("already_committed", first.instant)
    assert (again.partitions, again.files["replaced"]) == (("p0",), 1)
    assert rows_of(table) == sorted([*tuples(IN_P0), *OTHERS])


def test_what_cannot_be_deleted_is_refused(table: Path, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        delete_partitions(tmp_path / "none", "p0")
    for operation in ("delete_partition", "upsert"):
        with pytest.raises(OptionError, match="there is no source"):
            UpsertRequest(base_path=str(table), operation=operation).options()
    with pytest.raises(RequestError):
        write(table, IN_P0.select(["id"]), "delete")
    assert rows_of(table) == tuples(FIRST)


def test_file_groups_under_a_pending_clustering_are_not_replaced(tmp_path: Path) -> None:
    path = golden_copy("v6_cow_pending_clustering", tmp_path)
    table = pyhudi.open_table(str(path))
    claimed = table.clustered_groups()
    before = pyhudi.read_table(str(path))
    for partition in sorted({where for where, _ in claimed}):
        with pytest.raises(ConflictError, match="pending clustering"):
            delete_partitions(path, partition)
    assert claimed
    assert pyhudi.read_table(str(path)).equals(before)
    assert pyhudi.open_table(str(path)).timeline.pending() == table.timeline.pending()
