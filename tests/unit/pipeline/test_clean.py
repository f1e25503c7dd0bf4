"""Cleans by request and after a write, on our own tables and on copies of Hudi's."""

import json
import logging
from functools import partial
from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import OptionError, RequestError, UnsupportedError
from pyhudi.services.clean import pending_cleans
from pyhudi.storage.storage import FileStatus
from pyhudi.table.table import open_table
from pyhudi.timeline.instant import Action
from tests.support.faulty import Visited
from tests.support.golden import expected_rows, golden_copy, row_texts
from tests.support.in_process import Rows, cleaning, clock_at, options_of
from tests.support.in_process import write as write_rows_of
from tests.support.memory import MemoryStorage
from tests.support.orders import LOGGED, OPTIONS, compact, many, rows_of, write
from tests.support.orders import clean as clean_orders
from tests.support.tree import data_files, files_of_rows, tree

FEW = {"hoodie.clean.commits.retained": "1"}
BY_VERSIONS = {
    "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS",
    "hoodie.clean.fileversions.retained": "1",
}
KEPT = {**OPTIONS, "hoodie.clean.automatic": "false"}


clean = partial(clean_orders, options=FEW)


def aged(table: Path, updates: int = 4, options: dict[str, str] = KEPT, keys: int = 8) -> Path:
    """A table of two partitions, all of whose files were written so many times more."""
    write(table, many(range(keys), 1, "first"), "insert", options)
    for number in range(updates):
        write(table, many(range(keys), 2 + number, f"update {number}"), "upsert", options)
    return table


def cleans(table: Path) -> list[str]:
    done = open_table(table).timeline.completed()
    return [each.time for each in done if each.action is Action.CLEAN]


def test_a_plan_is_made_and_carried_out_apart(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    before = data_files(table)
    planned = clean(table, mode="schedule")
    assert (planned.status, planned.files) == ("scheduled", {"planned": 6})
    assert data_files(table) == before
    again = clean(table, mode="schedule")
    assert again.status == "nothing_to_do"
    assert f"clean {planned.instant} is planned already" in (again.reason or "")
    done = clean(table, mode="execute", instant=planned.instant)
    assert (done.status, done.instant, done.operation) == ("committed", planned.instant, "clean")
    assert (done.files, done.partitions) == ({"deleted": 6}, ("p0", "p1"))
    gone = set(before) - set(data_files(table))
    assert len(gone) == 6
    assert done.bytes_deleted > 6 * 1000
    assert clean(table, mode="execute", instant=planned.instant).status == "already_committed"
    assert clean(table, mode="execute").reason == "no clean is planned"


def test_what_is_planned_is_finished_before_what_is_due(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    planned = clean(table, mode="schedule").instant
    write(table, many(range(8), 9, "more"), "upsert", KEPT)
    done = clean(table)
    assert cleans(table) == [planned, done.instant]
    assert done.files == {"deleted": 8}


def test_several_plans_may_wait_where_that_is_asked_for(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    several = {**FEW, "hoodie.clean.multiple.enabled": "true"}
    planned = [clean(table, options=several, mode="schedule").instant for _ in range(2)]
    assert clean(table, mode="execute").files == {"deleted": 12}
    assert cleans(table) == planned


def test_a_dry_run_says_what_would_go_and_writes_nothing(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    before = tree(table)
    found = clean(table, dry_run=True)
    assert (found.status, found.instant, found.files) == ("planned", None, {"planned": 6})
    assert tree(table) == before
    done = clean(table)
    sizes = sum(each["bytes"] for each in found.by_partition.values())
    assert sizes == done.bytes_deleted
    assert {path: each["files"] for path, each in found.by_partition.items()} == {"p0": 3, "p1": 3}
    assert clean(table, dry_run=True).status == "nothing_to_do"


def test_a_dry_run_counts_what_is_planned_by_others_once(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    clean(table, mode="schedule")
    write(table, many(range(8), 9, "more"), "upsert", KEPT)
    assert clean(table, dry_run=True).files == {"planned": 8}
    assert clean(table, dry_run=True, mode="execute").files == {"planned": 6}
    assert clean(table, dry_run=True, mode="schedule").files == {"planned": 8}


@pytest.mark.parametrize("parallelism", ["1", "200"])
def test_many_files_are_deleted_in_tasks(tmp_path: Path, parallelism: str) -> None:
    table, options = tmp_path / "table", KEPT
    write(table, many(range(60), 1, "first", parts=30), "insert", options)
    for number in range(4):
        write(table, many(range(60), 2 + number, "more", parts=30), "upsert", options)
    size = sum(path.stat().st_size for path in table.rglob("*.parquet"))
    done = clean(table, options={**FEW, "hoodie.clean.parallelism": parallelism})
    assert (done.files, len(data_files(table))) == ({"deleted": 90}, 60)
    left = sum(path.stat().st_size for path in table.rglob("*.parquet"))
    assert done.bytes_deleted == size - left
    assert len(rows_of(table)) == 60


def test_a_write_cleans_by_itself_unless_told_not_to(tmp_path: Path) -> None:
    tables = {name: tmp_path / name for name in ("default", "few", "off", "no services")}
    aged(tables["default"], 12, dict(OPTIONS))
    aged(tables["few"], 3, {**OPTIONS, **FEW})
    aged(tables["off"], 3, {**KEPT, **FEW})
    aged(tables["no services"], 3, {**OPTIONS, **FEW, "hoodie.table.services.enabled": "false"})
    files = {name: len(data_files(table)) for name, table in tables.items()}
    # Of 13 versions those of ten commits stay, and the one before them.
    assert files == {"default": 2 * 11, "few": 2 * 2, "off": 2 * 4, "no services": 2 * 4}
    assert len(rows_of(tables["few"])) == 8


def test_the_result_of_a_write_has_the_time_that_its_clean_took(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    result = write(table, many(range(8), 9, "more"), "upsert", {**OPTIONS, **FEW})
    assert result.status == "committed"
    assert {"commit", "clean"} <= set(result.stages)
    assert len(cleans(table)) == 1


def test_hours_count_back_from_now(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    hours = {"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS", "hoodie.clean.hours.retained": "1"}
    assert clean(table, options=hours).status == "nothing_to_do"


def test_only_where_was_written_since_the_last_clean_is_looked_into() -> None:
    storage, options = MemoryStorage(), options_of(hoodie__clean__automatic="false")
    clock, listed = clock_at(), list[str]()

    class Listing(Visited):
        def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
            found = super().walk(path, without)
            listed.extend(each.path.rpartition("/")[0] for each in found)
            return found

        def list(self, path: str) -> list[FileStatus]:
            listed.append(path)
            return super().list(path)

    def looked_into(**more: str) -> list[str]:
        write_rows_of(storage, {("x", "a"): (1, "again")}, clock, options=options)
        listed.clear()
        cleaning(Listing(storage, lambda _: None), clock, **more).schedule_and_execute()
        return sorted({path for path in listed if path and not path.startswith(".")})

    for _ in range(3):
        rows: Rows = {("x", "a"): (1, "old"), ("y", "b"): (1, "old")}
        write_rows_of(storage, rows, clock, options=options)
    assert looked_into() == ["x", "y"]
    assert looked_into() == ["x"]
    assert looked_into(hoodie__clean__incremental__enabled="false") == ["x", "y"]


@pytest.mark.parametrize("name", ["v6_cow_clean", "v6_cow_archived", "v6_cow_restore"])
def test_a_table_that_hudi_cleaned_is_cleaned_further(name: str, tmp_path: Path) -> None:
    table = golden_copy(name, tmp_path)
    result = clean(table, options=BY_VERSIONS)
    if result.status == "nothing_to_do":
        rows = pyhudi.read_table(table).slice(0, 3)
        write(table, rows.drop_columns([n for n in rows.column_names if n[0] == "_"]), "upsert", {})
        result = clean(table, options=BY_VERSIONS)
    assert result.status == "committed"
    assert result.files["deleted"] > 0


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("v6_cow_cdc", 8),
        ("v6_cow_clustered", 7),
        ("v6_cow_metadata_full", 5),
        ("v6_cow_odd_partitions", 7),
        ("v6_mor_compacted", 8),
        ("v6_mor_record_index_moves", 6),
    ],
)
def test_no_row_of_what_hudi_wrote_is_lost(name: str, files: int, tmp_path: Path) -> None:
    table = golden_copy(name, tmp_path)
    assert clean(table, options=BY_VERSIONS).files == {"deleted": files}
    assert row_texts(pyhudi.read_table(table)) == expected_rows(name)
    # What is not kept must not be trusted.
    assert not (table / ".hoodie" / "metadata").exists()


def test_an_empty_plan_is_taken_from_the_timeline(tmp_path: Path) -> None:
    """Hudi may leave one when it dies, and takes it away too."""
    table = aged(tmp_path / "table")
    for suffix in ("requested", "inflight"):
        (table / ".hoodie" / f"20260101000000000.clean.{suffix}").touch()
    assert clean(table, mode="execute").reason == "the plan was empty, and is taken back"
    assert pending_cleans(open_table(table)) == ()
    assert clean(table).status == "committed"


def test_a_plan_of_a_copied_table_leaves_the_original_alone(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_clean", tmp_path)
    instant = cleans(table)[-1]
    (table / ".hoodie" / f"{instant}.clean").unlink()
    done = clean(table, mode="execute")
    assert (done.instant, done.files) == (instant, {"deleted": 1})
    assert row_texts(pyhudi.read_table(table)) == expected_rows("v6_cow_clean")


def test_log_files_and_compacted_slices_go_together(tmp_path: Path) -> None:
    options = {**LOGGED, "hoodie.clean.automatic": "false"}
    table = tmp_path / "table"
    write(table, many(range(8), 1, "first"), "insert", options)
    for number in range(3):
        write(table, many(range(8), 2 + number, "more"), "upsert", options)
        compact(table, {"hoodie.compact.inline.max.delta.commits": "1"})
    assert len(list(table.rglob(".*.log.*"))) == 6
    wanted = rows_of(table)
    clean(table, options=BY_VERSIONS)
    assert list(table.rglob(".*.log.*")) == []
    assert len(data_files(table)) == 2
    assert rows_of(table) == wanted


def test_the_partition_of_a_dropped_partition_goes_when_nobody_needs_it(tmp_path: Path) -> None:
    table = aged(tmp_path / "table", 1)
    dropping = {**KEPT, "hoodie.datasource.write.partitions.to.delete": "p1"}
    write(table, None, "delete_partition", dropping)
    (table / "p1" / ".notes").write_text("mine")
    for number in range(2):
        write(table, many(range(0, 8, 2), 5 + number, "p0"), "upsert", KEPT)
    assert clean(table).status == "committed"
    assert [path.name for path in (table / "p1").iterdir() if "metadata" not in path.name] == [
        ".notes"
    ]
    assert json.dumps(rows_of(table)).count("p1") == 0


def test_the_folder_of_a_dropped_partition_goes_too(tmp_path: Path) -> None:
    table = aged(tmp_path / "table", 1)
    dropping = {**KEPT, "hoodie.datasource.write.partitions.to.delete": "p1"}
    write(table, None, "delete_partition", dropping)
    for number in range(2):
        write(table, many(range(0, 8, 2), 5 + number, "p0"), "upsert", KEPT)
    clean(table)
    assert not (table / "p1").exists()
    write(table, many(range(8), 9, "back"), "upsert", KEPT)
    assert len(rows_of(table)) == 8


def test_an_instant_that_a_clean_is_about_to_lose_is_not_read(tmp_path: Path) -> None:
    table = aged(tmp_path / "table")
    first = open_table(table).timeline.completed().instants[0].time
    assert len(rows_of(table, as_of=first)) == 8
    clean(table, mode="schedule")
    with pytest.raises(RequestError, match="has been cleaned"):
        rows_of(table, as_of=first)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"mode": "unschedule"}, OptionError),
        ({"mode": "schedule", "instant": "20260102030405678"}, OptionError),
        ({"mode": "execute", "instant": "2026-01-02"}, OptionError),
        ({"mode": "execute", "instant": "20260102030405678"}, RequestError),
        ({"policy": "KEEP_ALL"}, OptionError),
        ({"retain_commits": "0"}, OptionError),
        ({"retain_commits": "-1"}, OptionError),
    ],
    ids=str,
)
def test_a_wrong_request_is_refused(
    asked: dict[str, str], error: type[Exception], tmp_path: Path
) -> None:
    table = aged(tmp_path / "table", 1)
    before = tree(table)
    with pytest.raises(error):
        clean(table, **asked)
    assert tree(table) == before


def test_a_table_that_is_not_written_here_is_not_cleaned(tmp_path: Path) -> None:
    table = golden_copy("v9_mor_basic", tmp_path)
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("format=PARQUET", "format=HFILE"))
    with pytest.raises(UnsupportedError, match="has HFILE base files, and cannot be cl"):
        clean(table)


def test_what_a_clean_did_is_said_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    aged(tmp_path / "table", 3, {**OPTIONS, **FEW})
    assert "2 files of 0.0 MiB deleted" in caplog.text


def test_log_files_that_tell_their_write_go_with_their_slices(tmp_path: Path):
    folder = golden_copy("v9_mor_compacted", tmp_path)
    kept = {log.path for each in open_table(folder).latest_slices() for log in each.log_files}
    logs = {path for path in files_of_rows(folder) if ".log." in path}
    clean_orders(folder, BY_VERSIONS)
    assert {path for path in files_of_rows(folder) if ".log." in path} == kept < logs
    assert row_texts(pyhudi.read_table(str(folder))) == expected_rows("v9_mor_compacted")
