"""What is done on two disks of a few megabytes; ``test_full_disk.py`` makes them and runs this."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyhudi.errors import EXIT_PLATFORM, StorageError
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.request import FAILURE_MARKER
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.clean import clean_table
from pyhudi.pipeline.compaction import compact_table
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.arrowfs import ArrowStorage
from tests.support import traps
from tests.support.aftermath import check_goes_on
from tests.support.kill_cases import Kill, Tables, kills
from tests.support.local_rows import LocalRows
from tests.support.orders import HERE, rows_of
from tests.support.traps import BALLOON, DISK, DRIVER, Trap
from tests.support.victims import SharedJvm

OF_TABLES, OF_SPARK = (Path(os.environ.get(name, "")) for name in ("TABLES_DISK", "SPARK_DISK"))
SERVICES = {
    "archive.py": (ArchiveRequest, archive_table),
    "clean.py": (CleanRequest, clean_table),
    "compaction.py": (CompactionRequest, compact_table),
    "restore.py": (RestoreRequest, restore_table),
    "rollback.py": (RollbackRequest, rollback_table),
    "savepoint.py": (SavepointRequest, savepoint_table),
}
FULL = [
    each
    for each in kills()
    if each.trap.victim == DRIVER
    and each.trap.call in ("create", "fill")
    # This file is empty, and finds room on a disk that is full.
    and each.stage != "savepoint is noted"
    # Whoever asks again makes the table, which the tests of kills show.
    and each.script != "bootstrap.py"
]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(folder=tmp_path_factory.mktemp("made"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder on the disk of tables, which is empty at first."""
    yield OF_TABLES / "folder"
    for disk in (OF_TABLES, OF_SPARK):
        (disk / BALLOON).unlink(missing_ok=True)
    shutil.rmtree(OF_TABLES / "folder")


def run_here(kill: Kill, arguments: list[str]) -> Any:
    """Carry out the request of a job in this process."""
    if kill.script in SERVICES:
        request, carry_out = SERVICES[kill.script]
        return carry_out(HERE, request.from_args(arguments))
    asked = UpsertRequest.from_args(arguments)
    rows = LocalRows.of(InProcessRunner(), pq.read_table(asked.source))
    return write_rows(HERE, rows, asked.base_path, asked.options())


@pytest.mark.parametrize("kill", [pytest.param(each, id=each.name) for each in FULL])
def test_a_disk_that_is_full_at_any_file_costs_nothing_but_the_job(
    kill: Kill,
    tables: Tables,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What fails after the commit is a warning; anything else is raised, and says what is full."""
    before = tables.copy(kill, folder)
    for name in traps.CALLS:
        monkeypatch.setattr(ArrowStorage, name, getattr(ArrowStorage, name))
    traps.install()
    monkeypatch.setenv(traps.FOLDER, str(tmp_path))
    trap = Trap(victim=DISK, call=kill.trap.call, path=kill.trap.path, disk=str(OF_TABLES))
    trap.lay(tmp_path)
    try:
        run_here(kill, before.arguments(folder))
        said = caplog.text
    except StorageError as error:
        said = str(error)
        assert kill.script != "upsert.py" or rows_of(folder / "table") == before.before
    assert traps.times_sprung(tmp_path) == 1
    assert f"{folder}/table/" in said
    assert "No space left on device; the disk is full; free space and retry" in said
    seen = rows_of(folder / "table")
    assert seen in (before.before, before.after)
    (OF_TABLES / BALLOON).unlink()
    check_goes_on(folder / "table", kill, before, seen)


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedJvm]:
    local = f"spark.local.dir={OF_SPARK}"
    with SharedJvm(tmp_path_factory.mktemp("jobs"), [local]) as shared:
        yield shared


@pytest.mark.parametrize(
    ("stage", "disk", "words"),
    [
        pytest.param("data files", OF_TABLES, "the disk is full; free space", id="of the table"),
        pytest.param("rows are read", OF_SPARK, "Spark's local folder", id="of Spark"),
    ],
)
def test_a_job_says_which_disk_is_full(
    stage: str, disk: Path, words: str, jvm: SharedJvm, tables: Tables, folder: Path
) -> None:
    kill = next(each for each in kills() if each.stage == stage)
    before = tables.copy(kill, folder)
    trap = Trap(victim=DISK, call=kill.trap.call, path=kill.trap.path, disk=str(disk))
    ended = jvm.run(kill.script, before.arguments(folder), trap)
    (line,) = [line for line in ended.said.splitlines() if line.startswith(FAILURE_MARKER)]
    assert (ended.code, ended.sprung) == (EXIT_PLATFORM, 1), ended.said
    assert words in line
    assert rows_of(folder / "table") == before.before
    (disk / BALLOON).unlink()
    check_goes_on(folder / "table", kill, before, before.before)
    assert jvm.run(kill.script, before.arguments(folder)).code == 0
