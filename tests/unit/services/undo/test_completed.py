"""The latest write to merge-on-read tables of versions 8 and 9 of Hudi's, taken back."""

from pathlib import Path

import pytest

import pyhudi
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.table.table import open_table
from tests.support.golden import golden_copy, row_texts
from tests.support.orders import HERE
from tests.support.tree import files_of_rows

LATEST = ("v8_mor_basic", "v9_mor_log_compacted", "v9_mor_pending_compaction", "v9_mor_overwrite")


def rows_of(folder: Path, **query: str) -> list[str]:
    return row_texts(pyhudi.read_table(str(folder), **query))


def writes_of(folder: Path) -> list[str]:
    return [found.time for found in open_table(str(folder)).timeline.write_instants().completed()]


def roll_back(folder: Path, instant: str) -> dict[str, int]:
    done = rollback_table(HERE, RollbackRequest(base_path=str(folder), instant=instant))
    return dict(done.files)


@pytest.mark.parametrize("name", LATEST)
def test_the_latest_write_leaves_no_file(name: str, tmp_path: Path) -> None:
    folder = golden_copy(name, tmp_path)
    *_, before, last = writes_of(folder)
    rows, files = rows_of(folder, as_of=before), files_of_rows(folder)
    own = {path for path in files if last in path}
    assert roll_back(folder, last) == {"deleted": len(own), "appended": 0}
    assert files_of_rows(folder) == files - own
    assert rows_of(folder) == rows
