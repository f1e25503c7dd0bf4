"""Cleans: what ours deletes is what Hudi deletes from a copy, and each finishes the other's."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import pyhudi
from pyhudi.actions.clean import CleanMetadata, CleanPlan
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.compaction import compact_table
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.table.table import open_table
from pyhudi.timeline.instant import Action
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows
from tests.support.clocks import FakeClock
from tests.support.golden import expected_rows, golden_copy, row_texts
from tests.support.local_rows import LocalRows
from tests.support.orders import DUE, HERE, LOGGED, OPERATION, OPTIONS, clean, many, write

HOUR_MS = 3_600_000
TABLE_TYPES = {"rewritten": OPTIONS, "logged": LOGGED}
KEPT = {"hoodie.clean.automatic": "false", "hoodie.metadata.enable": "false"}
RETENTIONS = {
    "commits": {"policy": "KEEP_LATEST_COMMITS", "commits.retained": "2"},
    "one commit": {"policy": "KEEP_LATEST_COMMITS", "commits.retained": "1"},
    "versions": {"policy": "KEEP_LATEST_FILE_VERSIONS", "fileversions.retained": "2"},
    "one version": {"policy": "KEEP_LATEST_FILE_VERSIONS", "fileversions.retained": "1"},
    "hours": {"policy": "KEEP_LATEST_BY_HOURS", "hours.retained": "24"},
}

Step: TypeAlias = "Callable[[Past], object]"


def options_of(retention: str) -> dict[str, str]:
    """A way to keep files, in the spellings of both releases."""
    chosen = RETENTIONS[retention].items()
    old = {f"hoodie.cleaner.{name}": value for name, value in chosen}
    return {**old, **{f"hoodie.clean.{name}": value for name, value in chosen}}


@dataclass
class Past:
    """A table that this engine writes at times that lie hours back, an hour or more apart."""

    path: Path
    options: dict[str, str]
    clock: FakeClock

    @classmethod
    def of(cls, path: Path, table_type: str, hours_ago: int = 60) -> "Past":
        now_ms = HERE.clock.now_ms() - hours_ago * HOUR_MS
        return cls(path, {**TABLE_TYPES[table_type], **KEPT}, FakeClock(now_ms, step_ms=1))

    def write(self, keys: range, value: str, operation: str = "upsert", **more: Any) -> None:
        self.clock.advance(5 * HOUR_MS)
        rows = many(keys, more.pop("ts", 1), value, more.pop("parts", 2))
        runner = InProcessRunner()
        environment = replace(HERE, clock=self.clock, runner=runner)
        chosen = {**self.options, OPERATION: operation, **more}
        result = write_rows(environment, LocalRows.of(runner, rows), str(self.path), chosen)
        assert result.status == "committed", result
        self._date()

    def drop(self, partition: str) -> None:
        chosen = {
            **self.options,
            OPERATION: "delete_partition",
            "hoodie.datasource.write.partitions.to.delete": partition,
        }
        self.clock.advance(5 * HOUR_MS)
        environment = replace(HERE, clock=self.clock)
        assert write_rows(environment, None, str(self.path), chosen).status == "committed"
        self._date()

    def compact(self, mode: str = "schedule_and_execute") -> None:
        self.clock.advance(HOUR_MS)
        request = CompactionRequest(base_path=str(self.path), hoodie_conf=DUE, mode=mode)
        assert compact_table(replace(HERE, clock=self.clock), request).instant
        self._date()

    def _date(self) -> None:
        """Let the files of instants be as old as the instants: that says when they completed."""
        now_s, today_s = self.clock.now_ms() / 1000, HERE.clock.now_ms() / 1000 - 600
        for path in (self.path / ".hoodie").glob("*.*"):
            if path.stat().st_mtime > today_s:
                os.utime(path, (now_s, now_s))

    @property
    def instants(self) -> list[str]:
        """The completed commits, oldest first."""
        table = open_table(self.path)
        return [each.time for each in table.timeline.write_instants().completed()]


def updates(past: Past) -> None:
    """Rows everywhere, then updates of some partitions, a new partition last."""
    past.write(range(8), "first", "insert", parts=4)
    for number in range(5):
        past.write(range(number % 3, 8, 4), f"update {number}", parts=4, ts=2 + number)
    past.write(range(20, 22), "late", "insert", parts=2)


def compactions(past: Past) -> None:
    """Updates with a compaction now and then, and in the end one that is planned and not run."""
    past.write(range(8), "first", "insert", parts=2)
    for number in range(6):
        past.write(range(0, 8, 3), f"update {number}", parts=2, ts=2 + number)
        if "MERGE_ON_READ" in past.options.values() and number % 2:
            mode = "schedule" if number == 5 else "schedule_and_execute"
            past.compact(mode)
    past.write(range(0, 8, 5), "on top", parts=2, ts=9)


def replacements(past: Past) -> None:
    """File groups that are hidden by overwrites, and a partition that is dropped."""
    past.write(range(9), "first", "insert", parts=3)
    past.write(range(0, 9, 3), "over", "insert_overwrite", parts=3, ts=2)
    past.drop("p1")
    for number in range(3):
        past.write(range(0, 9, 3), f"update {number}", parts=3, ts=3 + number)
    past.write(range(2, 9, 3), "over again", "insert_overwrite", parts=3, ts=8)


STEPS: dict[str, Step] = {
    "updates": updates,
    "compactions": compactions,
    "replacements": replacements,
}


def both_clean(
    hudi: RealHudi, table: Path, options: dict[str, str], folder: Path
) -> tuple[JobResult, set[str]]:
    """Clean a table, and let Hudi clean a copy: our result and the names that Hudi deleted."""
    theirs = folder / "theirs" / table.name
    shutil.rmtree(theirs.parent, ignore_errors=True)
    shutil.copytree(table, theirs)
    before = names(table)
    hudi.ask("clean", table=str(theirs), options={**KEPT, **options})
    result = clean(table, options)
    gone = before - names(theirs)
    assert before - names(table) == gone
    assert folders(table) == folders(theirs)
    return result, gone


def names(table: Path) -> set[str]:
    """The base files and log files, with their folders."""
    found = (path.relative_to(table) for path in table.rglob("*") if path.is_file())
    return {
        str(path)
        for path in found
        if ".hoodie" not in path.parts
        and path.suffix != ".crc"
        and not path.name.startswith(".hoodie_partition_metadata")
    }


def folders(table: Path) -> set[str]:
    marked = table.rglob(".hoodie_partition_metadata*")
    return {path.parent.name for path in marked if not path.name.endswith(".crc")}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_we_delete_what_hudi_deletes_by_every_policy(
    table_type: str, steps: str, hudi: RealHudi, tmp_path: Path
) -> None:
    past = Past.of(tmp_path / "made", table_type)
    STEPS[steps](past)
    wanted = ours.read(past.path)
    for number, retention in enumerate(RETENTIONS):
        table = tmp_path / str(number) / "table"
        shutil.copytree(past.path, table)
        result, gone = both_clean(hudi, table, options_of(retention), tmp_path)
        assert result.files.get("deleted", 0) == len(gone)
        assert_same_rows(ours.read(table), wanted)
        assert_same_rows(hudi.read(table), wanted)


@pytest.mark.parametrize(
    "name",
    [
        *("v6_cow_cdc", "v6_mor_cdc", "v6_cow_clustered", "v6_cow_overwrite", "v6_mor_overwrite"),
        *("v6_mor_compacted", "v6_mor_event_time", "v6_cow_inflight", "v6_cow_odd_partitions"),
    ],
)
def test_we_delete_what_hudi_deletes_of_what_it_wrote(
    name: str, hudi: RealHudi, tmp_path: Path
) -> None:
    for number, retention in enumerate(RETENTIONS):
        table = golden_copy(name, tmp_path / str(number))
        both_clean(hudi, table, options_of(retention), tmp_path)
        assert row_texts(pyhudi.read_table(table)) == expected_rows(name)


@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_we_delete_what_hudi_deletes_time_after_time(
    table_type: str, hudi: RealHudi, tmp_path: Path
) -> None:
    """Each clean looks only where was written since the last one; some find nothing."""
    past, options = Past.of(tmp_path / "table", table_type), options_of("commits")
    updates(past)
    counts = []
    for number in range(6):
        counts.append(len(both_clean(hudi, past.path, options, tmp_path)[1]))
        past.write(range(number % 2, 8, 4), f"more {number}", parts=4, ts=10 + number)
        if table_type == "logged":
            past.compact()
    assert sum(count > 0 for count in counts) > 1, counts


@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_both_keep_what_a_savepoint_names(table_type: str, hudi: RealHudi, tmp_path: Path) -> None:
    past, options = Past.of(tmp_path / "table", table_type), options_of("one commit")
    past.write(range(8), "first", "insert")
    past.write(range(8), "second", ts=2)
    if table_type == "logged":
        past.compact()
    saved = past.instants[1]
    hudi.ask("savepoint", table=str(past.path), instant=saved)
    kept = saved_files(past.path)
    for number in range(4):
        past.write(range(8), f"update {number}", ts=3 + number)
        if table_type == "logged":
            past.compact()
    both_clean(hudi, past.path, options, tmp_path)
    assert kept <= names(past.path)
    hudi.ask("delete_savepoint", table=str(past.path), instant=saved)
    past.write(range(8), "last", ts=9)
    _, gone = both_clean(hudi, past.path, options, tmp_path)
    assert kept & gone


def saved_files(path: Path) -> set[str]:
    table = open_table(path)
    (found,) = (each for each in table.timeline if each.action is Action.SAVEPOINT)
    by_partition = table.active.read_savepoint(found).files
    return {f"{partition}/{name}" for partition, files in by_partition.items() for name in files}


@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_both_say_the_same_of_a_clean(table_type: str, hudi: RealHudi, tmp_path: Path) -> None:
    past, options = Past.of(tmp_path / "table", table_type), options_of("commits")
    replacements(past)
    theirs = tmp_path / "theirs" / "table"
    shutil.copytree(past.path, theirs)
    at = hudi.ask("clean", table=str(theirs), options={**KEPT, **options})
    mine, found = clean(past.path, options).instant, []
    for path, instant in ((past.path, mine), (theirs, at)):
        plan = CleanPlan.from_bytes(body(path, instant, ".requested"))
        done = CleanMetadata.from_bytes(body(path, instant, ""))
        paths = {
            partition: sorted(text.replace("file:", "").replace(str(path), "") for text in texts)
            for partition, texts in plan.paths.items()
        }
        gone = {
            partition: (sorted(each.deleted), each.is_partition_deleted)
            for partition, each in done.partitions.items()
        }
        found.append(
            (
                replace(plan, paths=paths, emptied=tuple(sorted(plan.emptied))),
                replace(done, partitions=gone, start_time="", time_taken_ms=0),
            )
        )
    assert found[0] == found[1]


def body(table: Path, instant: str | None, suffix: str) -> bytes:
    return (table / ".hoodie" / f"{instant}.clean{suffix}").read_bytes()


@pytest.mark.parametrize("state", ["requested", "inflight", "half done"])
@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_a_clean_that_died_is_finished_by_the_other(
    table_type: str, state: str, hudi: RealHudi, tmp_path: Path
) -> None:
    past, options = Past.of(tmp_path / "table", table_type), options_of("commits")
    compactions(past)
    wanted, theirs = ours.read(past.path), tmp_path / "theirs" / "table"
    shutil.copytree(past.path, theirs)
    planned = clean(past.path, options, mode="schedule").instant
    also = hudi.ask("plan_clean", table=str(theirs), options={**KEPT, **options})
    for path, instant in ((past.path, planned), (theirs, also)):
        die(path, instant, state)
    hudi.ask("clean", table=str(past.path), options={**KEPT, **options})
    assert clean(theirs, options).instant == also
    for path, instant in ((past.path, planned), (theirs, also)):
        assert body(path, instant, "")
        assert_same_rows(ours.read(path), wanted)
        assert_same_rows(hudi.read(path), wanted)
    assert names(past.path) == names(theirs)


def die(table: Path, instant: str, state: str) -> None:
    """Leave a planned clean as a process does that dies in this state."""
    if state == "requested":
        return
    plan = body(table, instant, ".requested")
    (table / ".hoodie" / f"{instant}.clean.inflight").write_bytes(plan)
    if state == "half done":
        found = CleanPlan.from_bytes(plan).names
        first = [(partition, name) for partition, names_ in found.items() for name in names_][::2]
        for partition, name in first:
            (table / partition / name).unlink()


@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_both_go_on_writing_after_our_cleans(
    table_type: str, hudi: RealHudi, tmp_path: Path
) -> None:
    past = Past.of(tmp_path / "table", table_type)
    past.options |= {**options_of("commits"), "hoodie.clean.automatic": "true"}
    past.options |= {"hoodie.compact.inline": "true", **DUE}
    updates(past)
    assert list((past.path / ".hoodie").glob("*.clean"))
    for number in range(3):
        rows = many(range(number, 8, 4), 20 + 2 * number, "Hudi's", 4)
        hudi.write(past.path, rows, "upsert", options={**options_of("commits")})
        write(past.path, many(range(0, 8, 3), 21 + 2 * number, "ours", 4), options=past.options)
        assert_same_rows(ours.read(past.path), hudi.read(past.path))
    assert hudi.failures(past.path) == []
