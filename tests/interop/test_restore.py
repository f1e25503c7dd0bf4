"""Rollback, savepoint and restore: what Hudi leaves of a table, and what we leave of its copy."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.scenarios import Scenario
from tests.interop.test_merge_on_read import MERGE_ON_READ
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed
from tests.support.golden import golden_copy
from tests.support.in_process import outcome
from tests.support.orders import HERE, write

SCENARIO = Scenario("restored", partitions=("region",))
KINDS = {
    "COPY_ON_WRITE": {"hoodie.metadata.enable": "false"},
    "MERGE_ON_READ": {**MERGE_ON_READ, "hoodie.compact.inline": "false"},
}
NO_COMPACTION = {"hoodie.compact.inline": "false", "hoodie.metadata.enable": "false"}


def roll_back(table: Path, instant: str) -> JobResult:
    return rollback_table(HERE, RollbackRequest(base_path=str(table), instant=instant))


def restore(table: Path, instant: str) -> JobResult:
    return restore_table(HERE, RestoreRequest(base_path=str(table), instant=instant))


def savepoint(table: Path, instant: str | None = None, **asked: str) -> JobResult:
    request = SavepointRequest(base_path=str(table), instant=instant, **asked)
    return savepoint_table(HERE, request)


def copy_of(table: Path, name: str) -> Path:
    return Path(shutil.copytree(table, table.parent / name))


def data_of(table: Path) -> set[str]:
    """The data files, relative to the table; log files without the attempt that wrote them."""
    paths = (path.relative_to(table) for path in table.rglob("*") if path.is_file())
    kept = (p for p in paths if p.parts[0] != ".hoodie" and not p.name.endswith(".crc"))
    return {re.sub(r"(\.log\.\d+)_[\d-]+$", r"\1", str(path)) for path in kept}


def timeline_of(table: Path) -> list[str]:
    """The names on the timeline, those of rollbacks and restores without their times."""
    names = [p.name for p in (table / ".hoodie").iterdir() if p.name[0].isdigit()]
    timed = ("rollback", "restore")
    return sorted(n.partition(".")[2] if n.split(".")[1] in timed else n for n in names)


def begun(hudi: RealHudi, table: Path, kind: str) -> str:
    """A table of two writes; the second one's instant."""
    options = {**SCENARIO.options, **KINDS[kind]}
    hudi.write(table, SCENARIO.batch(range(30), 1), "insert", options=options, mode="overwrite")
    return hudi.write(table, SCENARIO.batch(range(20, 36), 2), options=KINDS[kind])


def check_alike(hudi: RealHudi, theirs: Path, own: Path, plan: str | None = None) -> None:
    """Both tables are the same, and both are gone on with by the other engine.

    Hudi leaves log files behind that were written on a ``plan`` of a compaction which is undone.
    """
    left = {name for name in data_of(theirs) if plan and f"_{plan}.log." in name}
    assert data_of(own) == data_of(theirs) - left
    assert bool(left) == bool(plan)
    assert timeline_of(own) == timeline_of(theirs)
    assert_same_rows(hudi.read(own), hudi.read(theirs))
    assert_same_rows(ours.read(own), hudi.read(own))
    assert_same_rows(ours.read(theirs), hudi.read(own))
    batch = SCENARIO.batch(range(25, 45), 8)
    hudi.write(own, batch, options=NO_COMPACTION)
    kind = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
    is_logged = any(".log." in name or "deltacommit" in name for name in timeline_of(theirs))
    write(theirs, batch, options={**SCENARIO.options, **(kind if is_logged else {})})
    assert_same_rows(user_columns(hudi.read(own)), user_columns(hudi.read(theirs)))
    assert_same_rows(ours.read(own), hudi.read(own))
    assert hudi.failures(own) == []


def upsert(hudi: RealHudi, table: Path, kind: str) -> str:
    return hudi.write(table, SCENARIO.batch(range(15, 40), 3), options=KINDS[kind])


def overwrite(hudi: RealHudi, table: Path, kind: str) -> str:
    rows = SCENARIO.batch(range(0, 12, 3), 3)
    return hudi.write(table, rows, "insert_overwrite", options=KINDS[kind])


def delete(hudi: RealHudi, table: Path, kind: str) -> str:
    return hudi.write(table, SCENARIO.batch(range(5), 3), "delete", options=KINDS[kind])


def compaction(hudi: RealHudi, table: Path, kind: str) -> str:
    planned = hudi.ask("plan_compaction", table=str(table))
    hudi.ask("run_compaction", table=str(table), instant=planned)
    return planned


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        ("COPY_ON_WRITE", upsert),
        ("COPY_ON_WRITE", overwrite),
        ("MERGE_ON_READ", upsert),
        ("MERGE_ON_READ", delete),
        ("MERGE_ON_READ", overwrite),
        ("MERGE_ON_READ", compaction),
    ],
)
def test_a_rollback_leaves_what_that_of_hudi_leaves(
    kind: str, last: Callable[[RealHudi, Path, str], str], hudi: RealHudi, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    begun(hudi, table, kind)
    before = hudi.read(table)
    instant = last(hudi, table, kind)
    theirs, own = copy_of(table, "theirs"), copy_of(table, "own")
    assert hudi.ask("rollback", table=str(theirs), instant=instant)
    assert roll_back(own, instant).status == "committed"
    assert_same_rows(hudi.read(own), before)
    check_alike(hudi, theirs, own)


@pytest.mark.parametrize("kind", KINDS)
def test_hudi_takes_back_what_we_wrote(kind: str, hudi: RealHudi, tmp_path: Path) -> None:
    """By a rollback and by a restore; both leave what ours leave."""
    table, options = tmp_path / "table", {**SCENARIO.options, **KINDS[kind]}
    write(table, SCENARIO.batch(range(30), 1), "insert", options)
    saved = write(table, SCENARIO.batch(range(20, 36), 2), "upsert", options).instant
    before = ours.read(table)
    hudi.ask("savepoint", table=str(table), instant=saved)
    last = write(table, SCENARIO.batch(range(15, 40), 3), "upsert", options).instant
    assert saved
    assert last
    theirs, own = copy_of(table, "theirs"), copy_of(table, "own")
    assert hudi.ask("rollback", table=str(theirs), instant=last)
    roll_back(own, last)
    for each in (theirs, own):
        assert_same_rows(hudi.read(each), before)
        assert_same_rows(ours.read(each), before)
    assert data_of(own) == data_of(theirs)
    assert timeline_of(own) == timeline_of(theirs)
    write(table, SCENARIO.batch(range(0, 12, 3), 4), "insert_overwrite", options)
    theirs, own = copy_of(table, "restored"), copy_of(table, "restored here")
    hudi.ask("restore", table=str(theirs), instant=saved)
    restore(own, saved)
    assert_same_rows(hudi.read(theirs), before)
    check_alike(hudi, theirs, own)


def test_hudi_goes_on_after_its_clustering_is_rolled_back(hudi: RealHudi, tmp_path: Path) -> None:
    table = golden_copy("v6_cow_pending_clustering", tmp_path)
    (planned,) = load_table(open_storage(str(table))).timeline.pending_writes()
    before = hudi.read(table)
    assert roll_back(table, planned.time).status == "committed"
    assert_same_rows(hudi.read(table), before)
    assert hudi.failures(table) == []


def test_savepoints_name_the_same_files(hudi: RealHudi, tmp_path: Path) -> None:
    for kind in KINDS:
        table = tmp_path / kind
        earlier = begun(hudi, table, kind)
        latest = upsert(hudi, table, kind)
        theirs, own = copy_of(table, f"theirs-{kind}"), copy_of(table, f"own-{kind}")
        for instant in (earlier, latest):
            hudi.ask("savepoint", table=str(theirs), instant=instant)
            assert savepoint(own, instant, user="we").status == "committed"
            found = [
                SavepointMetadata.from_bytes((t / ".hoodie" / f"{instant}.savepoint").read_bytes())
                for t in (own, theirs)
            ]
            assert [found[0].user, found[1].user] == ["we", "hudi"]
            sets = [{path: set(names) for path, names in each.files.items()} for each in found]
            assert sets[0] == sets[1]
        assert timeline_of(own) == timeline_of(theirs)
        hudi.ask("delete_savepoint", table=str(own), instant=latest)
        savepoint(theirs, latest, mode="delete")
        listed = savepoint(own, mode="list").savepoints
        assert [each["instant"] for each in listed] == [earlier]
        assert timeline_of(own) == timeline_of(theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_restore_leaves_what_that_of_hudi_leaves(
    kind: str, hudi: RealHudi, tmp_path: Path
) -> None:
    """Updates, new files, an overwrite, a compaction, log files on top of it, a plan."""
    table = tmp_path / "table"
    saved = begun(hudi, table, kind)
    hudi.ask("savepoint", table=str(table), instant=saved)
    before = hudi.read(table)
    plan = after_savepoint(hudi, table, kind)
    theirs, own = copy_of(table, "theirs"), copy_of(table, "own")
    hudi.ask("restore", table=str(theirs), instant=saved)
    assert restore(own, saved).status == "committed"
    assert_same_rows(hudi.read(own), before)
    check_alike(hudi, theirs, own, plan)
    again = restore(own, saved)
    assert again.status == "committed", "there was a write since"
    assert_same_rows(hudi.read(own), before)


def after_savepoint(hudi: RealHudi, table: Path, kind: str) -> str | None:
    """Everything that a restore has to undo; the compaction that is planned and not run."""
    upsert(hudi, table, kind)
    if kind == "MERGE_ON_READ":
        compaction(hudi, table, kind)
        hudi.write(table, SCENARIO.batch(range(10, 20), 5), options=KINDS[kind])
    overwrite(hudi, table, kind)
    hudi.write(table, SCENARIO.batch(range(10, 38), 6), options=KINDS[kind])
    if kind == "COPY_ON_WRITE":
        return None
    planned: str = hudi.ask("plan_compaction", table=str(table))
    hudi.write(table, SCENARIO.batch(range(12, 18), 7), options=KINDS[kind])
    return planned


class DyingAt(FaultyStorage):
    """A table on disk whose process ends at its first call of a kind on a path."""

    def __init__(self, inner: Storage, verb: str, suffix: str) -> None:
        super().__init__(inner, Faults())
        self.verb, self.suffix = verb, suffix

    def create(self, path: str, data: bytes) -> None:
        self._end_at("create", path)
        super().create(path, data)

    def delete(self, path: str) -> bool:
        self._end_at("delete", path)
        return super().delete(path)

    def delete_dir(self, path: str) -> None:
        self.inner.delete_dir(path)

    def _end_at(self, verb: str, path: str) -> None:
        if verb == self.verb and path.endswith(self.suffix):
            self.faults.kind, self.faults.at = Fault.DEATH, self.faults.calls + 1


def killed_at(table: Path, verb: str, suffix: str) -> Environment:
    """What a process has around it that ends there."""
    return replace(HERE, open_storage=lambda _: DyingAt(open_storage(str(table)), verb, suffix))


@pytest.mark.parametrize("kind", KINDS)
def test_hudi_finishes_a_restore_of_ours_that_died(
    kind: str, hudi: RealHudi, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    saved = begun(hudi, table, kind)
    hudi.ask("savepoint", table=str(table), instant=saved)
    before = hudi.read(table)
    after_savepoint(hudi, table, kind)
    points = [
        ("create", ".restore.inflight"),
        ("delete", ".parquet"),
        ("create", ".rollback"),
        ("delete", ".commit.requested"),
        ("create", ".restore"),
    ]
    if kind == "MERGE_ON_READ":
        points[3] = "delete", ".compaction.inflight"
    for verb, suffix in points:
        own = copy_of(table, f"{verb}{suffix}")
        dying = killed_at(own, verb, suffix)
        request = RestoreRequest(base_path=str(own), instant=saved)
        assert isinstance(outcome(partial(restore_table, dying, request)), Killed)
        assert "restore.requested" in timeline_of(own)
        assert_same_rows(ours.read(own), before)
        hudi.ask("restore", table=str(own), instant=saved)
        assert_same_rows(hudi.read(own), before)
        assert_same_rows(ours.read(own), before)
        assert [n for n in timeline_of(own) if n == "restore"] == ["restore"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_write_of_hudi_finishes_a_rollback_of_ours_that_died(
    kind: str, hudi: RealHudi, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    begun(hudi, table, kind)
    model, instant = copy_of(table, "before"), upsert(hudi, table, kind)
    batch = SCENARIO.batch(range(25, 45), 8)
    hudi.write(model, batch, options=NO_COMPACTION)
    wanted = user_columns(hudi.read(model))
    for verb, suffix in (("delete", "commit"), ("delete", ".requested"), ("create", ".rollback")):
        own = copy_of(table, f"{verb}{suffix}")
        dying = killed_at(own, verb, suffix)
        request = RollbackRequest(base_path=str(own), instant=instant)
        assert isinstance(outcome(partial(rollback_table, dying, request)), Killed)
        assert "rollback.requested" in timeline_of(own)
        hudi.write(own, batch, options=NO_COMPACTION)
        assert_same_rows(user_columns(ours.read(own)), wanted)
        # 0.15 stops reading a log at a rollback that is later than the last commit (HUDI-8248).
        if kind == "COPY_ON_WRITE" or hudi.version != "0.15.0":
            assert_same_rows(hudi.read(own), ours.read(own))


@pytest.mark.parametrize("kind", KINDS)
def test_we_finish_a_restore_of_hudi_that_died(kind: str, hudi: RealHudi, tmp_path: Path) -> None:
    """Its plan is there and the newest write undone, as Hudi leaves them."""
    table = tmp_path / "table"
    saved = begun(hudi, table, kind)
    hudi.ask("savepoint", table=str(table), instant=saved)
    before = hudi.read(table)
    after_savepoint(hudi, table, kind)
    newest = max(instant["requested"] for instant in hudi.timeline(table))
    theirs, own = copy_of(table, "theirs"), copy_of(table, "own")
    hudi.ask("rollback", table=str(own), instant=newest)
    hudi.ask("restore", table=str(theirs), instant=saved)
    for path in (theirs / ".hoodie").glob("*.restore.*"):
        shutil.copy(path, own / ".hoodie")
    assert_same_rows(ours.read(own), before)
    batch = SCENARIO.batch(range(25, 45), 8)
    write(own, batch, options={**SCENARIO.options, **KINDS[kind]})
    hudi.write(theirs, batch, options=NO_COMPACTION)
    assert_same_rows(user_columns(hudi.read(own)), user_columns(hudi.read(theirs)))
    assert_same_rows(ours.read(own), hudi.read(own))
    assert "restore" in timeline_of(own)
    assert hudi.failures(own) == []


def test_a_write_of_hudi_that_died_is_rolled_back_when_asked(
    hudi: RealHudi, tmp_path: Path
) -> None:
    for kind in KINDS:
        table = tmp_path / kind
        begun(hudi, table, kind)
        before = hudi.read(table)
        instant = upsert(hudi, table, kind)
        (done,) = (table / ".hoodie").glob(f"{instant}.*commit")
        done.unlink()
        result = roll_back(table, instant)
        assert (result.status, result.files["deleted"] > 0) == ("committed", True)
        assert_same_rows(hudi.read(table), before)
        assert_same_rows(ours.read(table), before)
        assert hudi.failures(table) == []
