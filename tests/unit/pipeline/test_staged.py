"""What writes append to the log files of a merge-on-read table, and what they rewrite."""

from pathlib import Path

import pyarrow.compute as pc
import pytest

import pyhudi
from pyhudi.pipeline.write_run import WriteRun
from pyhudi.schema.metafields import META_FIELDS
from tests.support.golden import golden_copy
from tests.support.orders import (
    DUE,
    LOGGED,
    NO_SMALL_FILES,
    compact,
    many,
    orders,
    rows_of,
    stats_of,
    tuples,
    write,
)
from tests.support.tree import data_files

FIRST = many(range(10), 1, "old")


def logs_of(table: Path) -> list[str]:
    return sorted(str(path.relative_to(table)) for path in table.glob("*/.*.log.*"))


def stored(table: Path) -> list[tuple[str, str, int, str]]:
    """The rows of base files alone."""
    return rows_of(table, query_type="read_optimized")


def test_updates_and_deletes_are_appended_to_the_slices_of_their_keys(table: Path) -> None:
    write(table, FIRST, "insert", LOGGED)
    files = data_files(table)
    updated = write(table, many(range(0, 10, 2), 2, "new"), "upsert", LOGGED)
    assert (updated.records["updated"], updated.files["appended"]) == (5, 1)
    assert (updated.files["created"], updated.files["rewritten"]) == (0, 0)
    (stat,) = stats_of(table, updated.instant)
    assert logs_of(table) == [stat["path"]]
    assert (table / stat["path"]).stat().st_size == stat["fileSizeInBytes"]
    gone = orders(("k0001", "p1", 0, ""), ("k0002", "p0", 0, "")).select(["id", "part"])
    deleted = write(table, gone, "delete", LOGGED)
    assert (deleted.records["deleted"], deleted.files["appended"]) == (2, 2)
    expected = [*tuples(many(range(0, 10, 2), 2, "new")), *tuples(many(range(1, 10, 2), 1, "old"))]
    assert rows_of(table) == sorted(r for r in expected if r[0] not in ("k0001", "k0002"))
    assert data_files(table) == files
    assert stored(table) == tuples(FIRST)


def test_new_keys_fill_a_small_base_file_once_it_has_no_logs(table: Path) -> None:
    write(table, FIRST, "insert", LOGGED)
    found = write(table, many(range(5, 15), 2, "new"), "upsert", LOGGED)
    # Updates of a file that is rewritten anyway need no log.
    assert (found.files["rewritten"], found.files["appended"], found.files["created"]) == (2, 0, 0)
    assert (found.records["inserted"], found.records["updated"]) == (5, 5)
    write(table, many([0], 3, "newer"), "upsert", LOGGED)
    last = write(table, many([20, 21], 3, "newest"), "upsert", LOGGED)
    # The file group of p0 has a log now, and is left alone.
    assert (last.files["rewritten"], last.files["created"]) == (1, 1)
    ts = dict.fromkeys(range(10), (1, "old")) | dict.fromkeys(range(5, 15), (2, "new"))
    ts |= {0: (3, "newer"), 20: (3, "newest"), 21: (3, "newest")}
    assert rows_of(table) == sorted((f"k{n:04d}", f"p{n % 2}", *ts[n]) for n in ts)


def test_without_small_files_new_keys_get_files_of_their_own(table: Path) -> None:
    write(table, FIRST, "insert", NO_SMALL_FILES)
    found = write(table, many(range(8, 12), 2, "new"), "upsert", NO_SMALL_FILES)
    assert (found.files["created"], found.files["appended"]) == (2, 2)
    assert (found.files["rewritten"], found.records["inserted"]) == (0, 2)
    assert rows_of(table) == sorted([*tuples(FIRST)[:8], *tuples(many(range(8, 12), 2, "new"))])


def test_how_large_records_are_is_asked_only_where_new_keys_come(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier commits are read for it, as many as there are."""
    asked: list[int] = []
    monkeypatch.setattr(WriteRun, "record_size", lambda *_: asked.append(1) or 100)
    write(table, FIRST, "insert", LOGGED)
    assert len(asked) == 1
    write(table, many(range(10), 2, "new"), "upsert", LOGGED)
    write(table, orders(("k0001", "p1", 0, "")).select(["id", "part"]), "delete", LOGGED)
    assert len(asked) == 1
    write(table, many(range(20, 22), 2, "new"), "upsert", LOGGED)
    assert len(asked) == 2


def test_a_record_that_moves_is_deleted_in_a_log_and_may_come_back(table: Path) -> None:
    moving = {**NO_SMALL_FILES, "hoodie.index.type": "GLOBAL_SIMPLE"}
    write(table, FIRST, "insert", moving)
    write(table, orders(("k0000", "p1", 2, "away")), "upsert", moving)
    write(table, orders(("k0000", "p0", 3, "back")), "upsert", moving)
    # An older row moves nothing.
    write(table, orders(("k0000", "p1", 1, "late")), "upsert", moving)
    assert rows_of(table) == [("k0000", "p0", 3, "back"), *tuples(FIRST)[1:]]


def test_rows_of_a_bucket_go_to_one_file_group(table: Path) -> None:
    hashed = {**LOGGED, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    write(table, FIRST, "upsert", hashed)
    assert write(table, many(range(5, 30), 2, "new"), "upsert", hashed).files["rewritten"] == 0
    assert len({path.split("_")[0] for path in data_files(table)}) <= 4
    assert rows_of(table) == sorted([*tuples(FIRST)[:5], *tuples(many(range(5, 30), 2, "new"))])


def test_an_insert_leaves_out_the_keys_that_are_there_and_no_others(table: Path) -> None:
    dropping = {**NO_SMALL_FILES, "hoodie.datasource.write.insert.drop.duplicates": "true"}
    write(table, FIRST, "insert", NO_SMALL_FILES)
    write(table, many([3], 1, "").select(["id", "part"]), "delete", NO_SMALL_FILES)
    assert write(table, many([3, 4, 40], 9, "fresh"), "insert", dropping).records["inserted"] == 2
    kept = [row for row in tuples(FIRST) if row[0] != "k0003"]
    assert rows_of(table) == sorted([*kept, *tuples(many([3, 40], 9, "fresh"))])


def test_logs_are_merged_into_what_an_overwrite_leaves(table: Path) -> None:
    write(table, FIRST, "insert", LOGGED)
    write(table, many(range(10), 2, "new"), "upsert", LOGGED)
    write(table, orders(("only", "p0", 1, "x")), "insert_overwrite", LOGGED)
    rest = [row for row in tuples(many(range(10), 2, "new")) if row[1] == "p1"]
    assert rows_of(table) == sorted([("only", "p0", 1, "x"), *rest])
    assert pyhudi.read_table(table, query_type="read_optimized").num_rows == 6


def test_a_table_with_hfile_blocks_is_appended_to_and_compacted(tmp_path: Path) -> None:
    table = golden_copy("v6_mor_hfile_logs", tmp_path)
    options = {**LOGGED, "hoodie.table.name": "v6_mor_hfile_logs"}
    before = pyhudi.read_table(table).drop_columns(list(META_FIELDS))
    newer = before.slice(0, 3)
    newer = newer.set_column(2, "ts", pc.add(newer.column("ts"), 10_000))
    done = write(table, newer, "upsert", options)
    assert (done.records["updated"], done.files["rewritten"]) == (3, 0)
    found = pyhudi.read_table(table)
    assert tuples(found.select(before.column_names)) == tuples(before.slice(3), newer)
    assert compact(table, options=DUE).status == "committed"
    stored = pyhudi.read_table(table, query_type="read_optimized").select(before.column_names)
    assert tuples(stored) == tuples(found.select(before.column_names))
