"""What takes writes to tables of versions 8 and 9 back or cleans up after them, by turns.

Those of Hudi's own releases and ours, on tables that both write; bootstrapped ones among them.
"""

import shutil
from pathlib import Path

import pytest

from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.bootstrap.bootstrap import bootstrap_table
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from tests.interop import ours
from tests.interop.bootstrap_cases import MERGE_ON_READ, digests
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows
from tests.interop.scenarios import HIVE
from tests.interop.test_bootstrap import BY_NAME
from tests.interop.test_written_later import APPENDED, REWRITTEN, SCENARIO, Turns, of_regions
from tests.support.orders import HERE, write

UNDONE = (("hudi", "ours", APPENDED), ("ours", "hudi", APPENDED), ("hudi", "ours", REWRITTEN))
KEY_GENERATOR = "hoodie.datasource.write.keygenerator.class"
SIMPLE = "org.apache.hudi.keygen.SimpleKeyGenerator"
CLEANS = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.keep.min.commits": "20",
    "hoodie.keep.max.commits": "30",
}


def test_services_of_both_find_the_other_s_files(later: RealHudi, tmp_path: Path) -> None:
    turns = Turns(later, tmp_path / "table")
    turns.upsert("ours", range(30), 1, "insert")
    for generation in range(2, 6):
        turns.upsert("hudi" if generation % 2 else "ours", range(20), generation)
    before = _data_of(turns.path)
    options = {**turns.options, **CLEANS}
    rows = SCENARIO.batch(range(3), 6)
    turns.model.upsert(rows)
    write(turns.path, rows, "upsert", options)
    assert len(_data_of(turns.path)) < len(before)
    turns.check_whole()
    turns.upsert("ours", range(20), 7)
    turns.upsert("hudi", range(20), 8)
    assert later.ask("clean", table=str(turns.path), retain=1)
    turns.check_whole()


def test_cleans_of_both_take_log_files_with_their_slices(later: RealHudi, tmp_path: Path) -> None:
    turns = Turns(later, tmp_path / "table", APPENDED)
    turns.upsert("ours", range(30), 1, "insert")
    for generation, by in ((2, "hudi"), (4, "ours")):
        turns.upsert(by, range(20), generation)
        assert turns.compact("schedule_and_execute").status == "committed"
        turns.upsert("hudi", range(10), generation + 1)
    before = _logs_of(turns.path)
    rows = SCENARIO.batch(range(3), 6)
    turns.model.upsert(rows)
    write(turns.path, rows, "upsert", {**turns.options, **CLEANS})
    assert before - _logs_of(turns.path)
    turns.check_whole()
    assert turns.compact("schedule_and_execute").status == "committed"
    turns.upsert("ours", range(5), 7)
    before = _logs_of(turns.path)
    assert later.ask("clean", table=str(turns.path), retain=1)
    assert before - _logs_of(turns.path)
    turns.check_whole()


def _logs_of(table: Path) -> set[str]:
    return {path.name for path in table.rglob(".*.log.*") if path.suffix != ".crc"}


def _data_of(table: Path) -> set[str]:
    return {p.name for p in table.rglob("*.parquet") if ".hoodie" not in p.parts}


def _roll_back(table: Path, instant: str) -> None:
    rollback_table(HERE, RollbackRequest(base_path=str(table), instant=instant))


@pytest.mark.parametrize(("writer", "undoer", "table_type"), UNDONE)
def test_writes_of_one_are_rolled_back_by_the_other(
    writer: str, undoer: str, table_type: str, later: RealHudi, tmp_path: Path
) -> None:
    turns = Turns(later, tmp_path / "table", table_type)
    turns.upsert("ours", range(30), 1, "insert")
    turns.upsert(writer, range(20, 40), 2)
    model = turns.model.copy()
    last = turns.upsert(writer, range(10, 50), 3)
    turns.model = model
    if undoer == "ours":
        _roll_back(turns.path, last)
    else:
        assert later.ask("rollback", table=str(turns.path), instant=last)
    turns.check_whole()
    turns.upsert(writer, range(35, 60), 4)
    turns.upsert(undoer, range(55, 65), 5)
    turns.check_whole()


@pytest.mark.parametrize(("restorer", "saver", "table_type"), UNDONE)
def test_a_savepoint_of_one_is_restored_by_the_other(
    restorer: str, saver: str, table_type: str, later: RealHudi, tmp_path: Path
) -> None:
    turns, path = Turns(later, tmp_path / "table", table_type), tmp_path / "table"
    turns.upsert("ours", range(30), 1, "insert")
    saved = turns.upsert("hudi", range(20, 40), 2)
    if saver == "ours":
        savepoint_table(HERE, SavepointRequest(base_path=str(path), instant=saved))
    else:
        later.ask("savepoint", table=str(path), instant=saved)
    model = turns.model.copy()
    turns.upsert("ours", range(10, 50), 3)
    turns.replace("hudi", "insert_overwrite", of_regions(range(9), 4, "asia"), {"asia"})
    if table_type == APPENDED:
        turns.upsert("ours", range(10, 30), 5)
        assert turns.compact("schedule_and_execute").status == "committed"
        turns.upsert("hudi", range(15, 25), 6)
    turns.check()
    if restorer == "ours":
        restore_table(HERE, RestoreRequest(base_path=str(path), instant=saved))
    else:
        later.ask("restore", table=str(path), instant=saved)
    turns.model = model
    turns.check_whole()
    turns.upsert("ours", range(35, 60), 7)
    turns.upsert("hudi", range(55, 70), 8)
    turns.check_whole()


def test_hudi_undoes_a_write_of_ours_that_died(later: RealHudi, tmp_path: Path) -> None:
    turns = Turns(later, tmp_path / "table")
    turns.upsert("ours", range(30), 1, "insert")
    last = turns.write("ours", "upsert", SCENARIO.batch(range(20, 40), 2))
    timeline = turns.path / ".hoodie" / "timeline"
    (done,) = timeline.glob(f"{last}_*.commit")
    done.unlink()
    turns.upsert("hudi", range(5), 3)
    assert not list(timeline.glob(f"{last}*"))
    turns.check()
    copy = shutil.copytree(turns.path, tmp_path / "copy")
    assert_same_rows(later.read(copy), ours.read(copy))


@pytest.mark.parametrize(
    ("first", "name"),
    [("ours", "metadata_only"), ("ours", "mixed_logs"), ("hudi", "metadata_only")],
)
def test_a_bootstrapped_table_by_turns(
    first: str, name: str, later: RealHudi, tmp_path: Path
) -> None:
    dataset = BY_NAME[name]
    table_type = APPENDED if MERGE_ON_READ.items() <= dataset.more.items() else REWRITTEN
    own = {**HIVE, **dataset.more, KEY_GENERATOR: SIMPLE}
    turns = Turns(later, tmp_path / "table", table_type)
    turns.options |= own
    rows, source = dataset.rows(range(40), 1), tmp_path / "source"
    dataset.write(source, rows)
    turns.model.upsert(rows)
    before = digests(source)
    if first == "ours":
        request = BootstrapRequest(
            base_path=str(turns.path), source=str(source), hoodie_conf=turns.options
        )
        assert bootstrap_table(HERE, request).status == "committed"
    else:
        later.bootstrap(turns.path, source, {**turns.options, **dataset.hudis_own})
    turns.check()
    turns.upsert("hudi", range(30, 50), 2)
    turns.check()
    turns.upsert("ours", range(20, 45), 3)
    turns.delete("ours", range(5))
    turns.check()
    if table_type == APPENDED:
        assert turns.compact("schedule_and_execute").status == "committed"
    model = turns.model.copy()
    last = turns.upsert("hudi", range(10, 60), 4)
    _roll_back(turns.path, last)
    turns.model = model
    turns.upsert("hudi", range(10, 20), 5)
    turns.check_whole()
    assert digests(source) == before
