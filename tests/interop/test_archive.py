"""Archives: each goes on where the other archived, and both archive the same."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyhudi.actions.archived import ArchivedFile
from pyhudi.config.write import IDEMPOTENCY_KEY
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.schemes import open_storage
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.table import load_table, open_table
from pyhudi.timeline.clock import SystemClock
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows
from tests.interop.scenarios import SCENARIOS
from tests.interop.test_hudi_tables import payload
from tests.interop.test_merge_on_read import MERGE_ON_READ
from tests.support.in_process import write

SCENARIO = {s.name: s for s in SCENARIOS}["two_hive_partitions"]
COPY_ON_WRITE: Mapping[str, str] = {}
KEEPING = {
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
    "hoodie.clean.commits.retained": "1",
    "hoodie.cleaner.commits.retained": "1",
}
"""Few enough to archive much; both spellings, as Hudi's releases take one each."""
MERGING = {"hoodie.archive.merge.enable": "true", "hoodie.archive.merge.files.batch.size": "2"}
"""Hudi 0.15 makes one of small archive files."""
LEFT_ALONE = {"hoodie.archive.automatic": "false", "hoodie.clean.automatic": "false"}
TYPES = pytest.mark.parametrize("kind", [COPY_ON_WRITE, MERGE_ON_READ], ids=["copied", "logged"])


def options_of(kind: Mapping[str, str], **more: str) -> dict[str, str]:
    compacting = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "3"}
    found = {**SCENARIO.options, **kind, **payload(SCENARIO), **(compacting if kind else {})}
    return {**found, **KEEPING, **more}


def we_write(table: Path, generation: int, options: Mapping[str, str], **more: str) -> JobResult:
    rows = SCENARIO.batch(range(5 * generation % 20, 20), generation)
    chosen = {**options, **{name.replace("__", "."): value for name, value in more.items()}}
    return write(open_storage(str(table)), rows, SystemClock(), "upsert", chosen)


def hudi_writes(hudi: RealHudi, table: Path, generation: int, options: dict[str, str]) -> str:
    rows = SCENARIO.batch(range(5 * generation % 20, 20), generation)
    return hudi.write(table, rows, "upsert", options=options)


def we_archive(table: Path, **options: str) -> JobResult:
    chosen = {**KEEPING, **{name.replace("__", "."): value for name, value in options.items()}}
    request = ArchiveRequest(base_path=str(table), hoodie_conf=chosen)
    return archive_table(environment_on(InProcessRunner()), request)


def names_on_timeline(table: Path) -> set[str]:
    return {path.name for path in (table / ".hoodie").glob("2*")}


def instants_of(table: Path) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Completed instants of the archive and of the timeline."""
    opened = open_table(str(table))
    archived = ArchivedTimeline.of(opened.storage, opened.config).load()
    return (
        {each.identity for each in archived.completed()},
        {each.identity for each in opened.timeline.completed()},
    )


def archived_by_hudi(hudi: RealHudi, table: Path, **asked: str) -> set[tuple[str, str]]:
    found = hudi.ask("archived", table=str(table), **asked)
    return {(each["requested"], each["action"]) for each in found if each["state"] == "COMPLETED"}


@TYPES
def test_hudi_goes_on_from_our_archives(hudi: RealHudi, kind, tmp_path: Path) -> None:
    table, options = tmp_path / "table", options_of(kind)
    keys = [we_write(table, n, options, pyhudi__idempotency__key=f"key-{n}") for n in range(1, 14)]
    archived, active = instants_of(table)
    assert len(list((table / ".hoodie" / "archived").iterdir())) > 1
    assert not archived & active
    assert {each.instant for each in keys} <= {time for time, _ in archived | active}
    assert archived_by_hudi(hudi, table) == archived
    first = keys[0].instant
    told = next(
        each
        for each in hudi.ask("archived", table=str(table))
        if (each["requested"], each["state"]) == (first, "COMPLETED")
    )
    assert f'"{IDEMPOTENCY_KEY.key}": "key-1"' in told["details"]
    since = sorted(archived)[len(archived) // 2][0]
    assert archived_by_hudi(hudi, table, start=since) == {
        each for each in archived if each[0] >= since
    }
    assert_same_rows(hudi.read(table), ours.read(table))
    begin = min(time for time, action in active if "commit" in action)
    changed = ours.read(table, query_type="incremental", begin=begin)
    assert_same_rows(hudi.read(table, begin=begin), changed)
    for generation in range(14, 22):
        hudi_writes(hudi, table, generation, options)
    more, left = instants_of(table)
    assert more > archived
    assert archived | active <= more | left
    assert archived_by_hudi(hudi, table) == more
    assert_same_rows(ours.read(table), hudi.read(table))
    again = we_write(table, 99, options, pyhudi__idempotency__key="key-1")
    assert (again.status, again.instant) == ("already_committed", first)
    assert hudi.failures(table) == []


@TYPES
def test_we_go_on_from_archives_of_hudi(hudi: RealHudi, kind, tmp_path: Path) -> None:
    table, options = tmp_path / "table", options_of(kind)
    merging = {**options, **MERGING}
    made = [hudi_writes(hudi, table, n, merging) for n in range(1, 11)]
    archived, active = instants_of(table)
    assert archived
    assert archived == archived_by_hudi(hudi, table)
    assert set(made) <= {time for time, _ in archived | active}
    for generation in range(11, 18):
        we_write(table, generation, options)
    more, left = instants_of(table)
    assert more > archived
    assert archived_by_hudi(hudi, table) == more
    assert archived | active <= more | left
    assert_same_rows(hudi.read(table), ours.read(table))
    assert hudi.failures(table) == []


def prepared(hudi: RealHudi, table: Path, kind: Mapping[str, str], *, is_saved: bool) -> None:
    """A table with a long timeline: writes, compactions, cleans, a rollback.

    And a commit that is saved early, or an overwrite, whose replaced files are cleaned.
    """
    options = options_of(kind, **LEFT_ALONE)
    for generation in range(1, 8):
        made = hudi_writes(hudi, table, generation, options)
        if generation == 3:
            undone = hudi_writes(hudi, table, 50, options)
            hudi.ask("rollback", table=str(table), instant=undone)
        if generation == 2 and is_saved:
            hudi.ask("savepoint", table=str(table), instant=made)
        if generation == 4 and not is_saved:
            hudi.write(table, SCENARIO.batch(range(3), 60), "insert_overwrite", options=options)
        hudi.ask("clean", table=str(table))


def check_same(hudi: RealHudi, table: Path, tmp_path: Path, **options: str) -> None:
    """Hudi and we archive copies of a table, and leave the same of both."""
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    for copy in (theirs, mine):
        shutil.copytree(table, copy)
    chosen = {**KEEPING, **{name.replace("__", "."): value for name, value in options.items()}}
    hudi.ask("archive", table=str(theirs), options=chosen)
    done = we_archive(mine, **options)
    assert names_on_timeline(mine) == names_on_timeline(theirs)
    before = names_on_timeline(table)
    assert done.files.get("deleted", 0) == len(before) - len(names_on_timeline(mine))
    assert records_of(hudi, mine) == records_of(hudi, theirs)
    assert_same_rows(ours.read(mine), hudi.read(theirs))
    for copy in (theirs, mine):
        shutil.rmtree(copy)


def records_of(hudi: RealHudi, table: Path) -> dict[tuple[str, ...], Any]:
    """What the archive says of each file.

    Hudi 1.1 has more fields, notes when a file was written of completed instants alone, and leaves
    out what 0.15 puts in for nothing; of its records what completed instants wrote is compared.
    """
    opened = load_table(open_storage(str(table)))
    archived = ArchivedTimeline.of(opened.storage, opened.config)
    found = {record.identity: record for file in archived.files() for record in archived.read(file)}
    if hudi.version == "0.15.0":
        return found
    return {identity: written(record) for identity, record in found.items()}


def written(record: ArchivedFile) -> Any:
    if record.commit is None:
        return None
    extra = dict(record.commit.commit.extra_metadata)
    extra.pop("ROLLING_STAT", None)
    stats = [
        (stat.path, stat.prev_commit, stat.num_writes, stat.num_deletes, stat.file_size_bytes)
        for stat in record.commit.commit.write_stats
    ]
    return extra, sorted(stats), record.commit.partition_to_replaced_file_ids


@TYPES
def test_both_archive_the_same(hudi: RealHudi, kind, tmp_path: Path) -> None:
    table = tmp_path / "table"
    prepared(hudi, table, kind, is_saved=False)
    check_same(hudi, table, tmp_path)
    check_same(hudi, table, tmp_path, hoodie__keep__max__commits="30")


def test_both_archive_the_same_beside_a_savepoint(hudi: RealHudi, tmp_path: Path) -> None:
    table = tmp_path / "table"
    prepared(hudi, table, COPY_ON_WRITE, is_saved=True)
    check_same(hudi, table, tmp_path)
    check_same(hudi, table, tmp_path, hoodie__archive__beyond__savepoint="true")
