"""Tasks that Spark starts a second time elsewhere: slow ones, and those of a killed executor."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.aftermath import check_goes_on, left_by_nobody
from tests.support.kill_cases import Tables, kills
from tests.support.orders import rows_of
from tests.support.points import IS_WHOLE
from tests.support.traps import JVM, NOBODY, Trap
from tests.support.victims import SharedJvm

pytestmark = pytest.mark.spark

AT_ONCE = {
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.efficiency.enabled": "false",
}
STAGES = ("data files", "log files", "compacted files")
HOSTS = ("127.0.0.2", "127.0.0.3")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedJvm]:
    settings = [f"{name}={value}" for name, value in AT_ONCE.items()]
    with SharedJvm(tmp_path_factory.mktemp("jobs"), settings, hosts=HOSTS) as shared:
        yield shared


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(folder=tmp_path_factory.mktemp("made"))


@pytest.mark.parametrize("stage", STAGES if IS_WHOLE else STAGES[:1])
@pytest.mark.parametrize("victim", [NOBODY, JVM], ids=["speculation", "executor killed"])
def test_of_two_attempts_one_is_kept(
    stage: str, victim: str, cluster: SharedJvm, tables: Tables, tmp_path: Path
) -> None:
    """A first attempt that stops in the midst of a file does not end before the job does."""
    kill = next(each for each in kills() if each.stage == stage)
    before, table = tables.copy(kill, tmp_path), tmp_path / "table"
    trap = Trap(victim=victim, call=kill.trap.call, path=kill.trap.path)
    ended = cluster.run(kill.script, before.arguments(tmp_path), trap)
    assert (ended.code, ended.sprung) == (0, 1), ended.said
    assert rows_of(table) == before.after
    assert left_by_nobody(table) == []
    check_goes_on(table, kill, before, before.after)
