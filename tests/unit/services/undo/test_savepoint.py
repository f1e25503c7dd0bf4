"""Savepoints of merge-on-read tables of versions 8 and 9: what a restore to them leaves."""

from pathlib import Path

import pytest

import pyhudi
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.table.table import open_table
from tests.support.golden import golden_copy, row_texts
from tests.support.orders import HERE
from tests.support.tree import files_of_rows

SAVED = {"v8_mor_compacted": 2, "v9_mor_pending_compaction": 1, "v8_mor_from_v6": 1}


def rows_of(folder: Path, **query: str) -> list[str]:
    return row_texts(pyhudi.read_table(str(folder), **query))


def writes_of(folder: Path) -> list[str]:
    return [found.time for found in open_table(str(folder)).timeline.write_instants().completed()]


def user_rows(folder: Path) -> list[str]:
    found = pyhudi.read_table(str(folder))
    return row_texts(found.select(found.column_names[5:]))


def roll_back(folder: Path, instant: str) -> dict[str, int]:
    done = rollback_table(HERE, RollbackRequest(base_path=str(folder), instant=instant))
    return dict(done.files)


@pytest.mark.parametrize("name", SAVED)
def test_a_savepoint_is_restored_again_and_again(name: str, tmp_path: Path) -> None:
    """What it keeps is what a restore leaves: no log file of a write that was completed later."""
    folder = golden_copy(name, tmp_path)
    saved = writes_of(folder)[SAVED[name]]
    before, rows = rows_of(folder), rows_of(folder, as_of=saved)
    savepoint_table(HERE, SavepointRequest(base_path=str(folder), instant=saved))
    assert rows_of(folder) == before
    asked = RestoreRequest(base_path=str(folder), instant=saved)
    assert restore_table(HERE, asked).status == "committed"
    assert rows_of(folder) == rows
    later = [time for time in writes_of(folder) if time > saved]
    assert later == []
    assert restore_table(HERE, asked).status == "already_committed"


def test_writes_before_an_upgrade_are_taken_back_by_blocks(tmp_path: Path) -> None:
    folder = golden_copy("v8_mor_from_v6", tmp_path)
    saved, *_ = writes_of(folder)
    savepoint_table(HERE, SavepointRequest(base_path=str(folder), instant=saved))
    rows, files = rows_of(folder, as_of=saved), files_of_rows(folder)
    done = restore_table(HERE, RestoreRequest(base_path=str(folder), instant=saved))
    assert rows_of(folder) == rows
    assert done.files["appended"] == len(files_of_rows(folder) - files) > 0


def test_a_savepoint_keeps_no_file_of_a_compaction_that_ended_later(tmp_path: Path) -> None:
    folder = golden_copy("v8_mor_from_v6", tmp_path)
    *_, saved, compacted = writes_of(folder)
    savepoint_table(HERE, SavepointRequest(base_path=str(folder), instant=saved))
    (savepoint,) = (folder / ".hoodie" / "timeline").glob(f"{saved}_*.savepoint")
    assert saved.encode() in savepoint.read_bytes()
    assert compacted.encode() not in savepoint.read_bytes()
    before = user_rows(folder)
    assert roll_back(folder, compacted)["deleted"] == 2
    assert user_rows(folder) == before
