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
    "log files",
    "compacted files",
    "compaction commits",
    "cleaned files go",
    "archived instants go",
    "files go",
)
KILLS = [each for each in kills() if each.trap.victim == DRIVER and each.stage in STAGES]
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
            found[kill.name] = folder, before
    return found


@pytest.mark.parametrize("kill", [pytest.param(each, id=each.name) for each in KILLS])
def test_hudi_reads_and_continues_a_table_on_which_a_driver_was_killed(
    kill: Kill, died: Died, tmp_path: Path, hudi: RealHudi
) -> None:
    folder, before = died[kill.name]
    table = tmp_path / "table"
    shutil.copytree(folder / "table", table)
    seen = rows_of(table)
    assert rows_by(hudi, table) == seen
    hudi.write(table, NEXT, "upsert", options={"hoodie.metadata.enable": "false"})
    ends = (seen, before.after) if kill.script in ("rollback.py", "restore.py") else (seen,)
    assert rows_by(hudi, table) in [before.then(each) for each in ends]
    assert_same_rows(ours.read(table), hudi.read(table))
    assert hudi.failures(table) == []


def rows_by(hudi: RealHudi, table: Path) -> list[Row]:
    """The rows of the table of orders, as Hudi reads them."""
    return sorted(tuple(row[name] for name in SCHEMA.names) for row in hudi.read(table))
