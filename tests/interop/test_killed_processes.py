"""Tables on which our driver was killed: real Hudi reads them, and goes on."""

import shutil
from pathlib import Path

import pytest

from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows
from tests.support.kill_cases import NEXT, Before, Kill, Tables, kills
from tests.support.orders import SCHEMA, Row, rows_of
from tests.support.traps import DRIVER
from tests.support.victims import SharedJvm

STAGES = (
    "data files",
    "commit",
    "markers go",
    "cleaned files go",
    "archived instants go",
    "log files",
    "compacted files",
    "files go",
)
# Hudi's readers see a restore midway; test_restore.py has those that died.
OPERATIONS = ("upsert, clean, archive", "upsert, compaction", "rollback")
KILLS = [
    each
    for each in kills()
    if each.trap.victim == DRIVER and each.stage in STAGES and each.operation in OPERATIONS
]
# Hudi does not look after markers and heartbeats of writes that are completed, or only planned.
SWEPT_BY_US = "no trace of the write is left"
Died = dict[str, tuple[Path, Before]]


@pytest.fixture(scope="session")
def died(hudi_home_ready: None, tmp_path_factory: pytest.TempPathFactory) -> Died:
    """For each kill the folder of the table as the driver left it."""
    tables = Tables(folder=tmp_path_factory.mktemp("made"))
    found: Died = {}
    with SharedJvm(tmp_path_factory.mktemp("jobs")) as jvm:
        for kill in KILLS:
            folder = tmp_path_factory.mktemp("died")
            before = tables.copy(kill, folder)
            ended = jvm.run(kill.script, before.arguments(folder), kill.trap)
            assert ended.sprung == 1, ended.said
            (folder / "table").rename(folder / "died")
            found[kill.name] = folder, before
    return found


@pytest.mark.parametrize("kill", [pytest.param(each, id=each.name) for each in KILLS])
def test_hudi_reads_and_continues_a_table_on_which_a_driver_was_killed(
    kill: Kill, died: Died, hudi: RealHudi
) -> None:
    folder, before = died[kill.name]
    # Where it was, as the plan of a rollback has whole paths.
    table = folder / "table"
    shutil.rmtree(table, ignore_errors=True)
    shutil.copytree(folder / "died", table)
    seen = rows_of(table)
    assert rows_by(hudi, table) == seen
    # Twice: the rollback of a dead write has a later instant than the write that comes upon it, and
    # 0.15.0 reads no log block behind one that is later than the latest write.
    for _ in range(2):
        hudi.write(table, NEXT, "upsert", options={"hoodie.metadata.enable": "false"})
    ends = (seen, before.after) if kill.script == "rollback.py" else (seen,)
    assert rows_by(hudi, table) in [before.then(each) for each in ends]
    assert_same_rows(ours.read(table), hudi.read(table))
    assert [each for each in hudi.failures(table) if not each.startswith(SWEPT_BY_US)] == []


def rows_by(hudi: RealHudi, table: Path) -> list[Row]:
    """The rows of the table of orders, as Hudi reads them."""
    return sorted(tuple(row[name] for name in SCHEMA.names) for row in hudi.read(table))
