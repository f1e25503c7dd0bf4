"""Driver, JVM and Python worker, killed in every stage of a write and of the services."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import EXIT_PLATFORM, TableNotFoundError
from pyhudi.jobs.request import FAILURE_MARKER
from tests.support.aftermath import check_goes_on, left_by_nobody
from tests.support.kill_cases import ATTEMPTS, Before, Kill, Tables, kills
from tests.support.orders import SCHEMA, Row, rows_of, tuples
from tests.support.points import IS_WHOLE
from tests.support.reliability import PAGE, REWRITE, section_of_kills
from tests.support.traps import DRIVER, JVM, WORKER
from tests.support.victims import Ended, SharedJvm

pytestmark = pytest.mark.spark

KILLED = {JVM: "Spark's JVM has ended", WORKER: "a Python worker died"}
# A JVM of its own takes as long to start as five kills on one that is shared.
STEPS = {DRIVER: 3, WORKER: 3, JVM: 12}
ALWAYS = ("bootstrap-rows_commit-jvm",)


def tried() -> list[Kill]:
    """All kills, or a share of those of each victim."""
    every: dict[str, list[Kill]] = {victim: [] for victim in STEPS}
    for kill in kills():
        every[kill.trap.victim].append(kill)
    return [
        kill
        for victim, found in every.items()
        for number, kill in enumerate(found)
        if IS_WHOLE or number % STEPS[victim] == 0 or kill.name in ALWAYS
    ]


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedJvm]:
    with SharedJvm(tmp_path_factory.mktemp("jobs")) as shared:
        yield shared


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return Tables(folder=tmp_path_factory.mktemp("made"))


@pytest.mark.parametrize("kill", [pytest.param(each, id=each.name) for each in tried()])
def test_whoever_is_killed_the_table_is_whole_and_the_next_job_succeeds(
    kill: Kill,
    jvm: SharedJvm,
    tables: Tables,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """A worker that is killed once is not noticed; one that is killed always fails the job."""
    before = tables.copy(kill, tmp_path)
    victim, table = kill.trap.victim, tmp_path / "table"
    ended = jvm.run(kill.script, before.arguments(tmp_path), kill.trap, own=victim == JVM)
    assert ended.sprung == kill.trap.times, ended.said
    seen = seen_in(table)
    assert seen in (before.before, before.after)
    check_end(kill, ended, seen, before)
    if victim == WORKER and kill.trap.times < ATTEMPTS:
        assert left_by_nobody(table) == []
    if before.again and seen != before.after:
        again = jvm.run(kill.script, before.arguments(tmp_path))
        assert again.code == 0, again.said
        seen = rows_of(table)
        assert seen == before.after
    check_goes_on(table, kill, before, seen)
    record_property("kill", kill.name)


@pytest.mark.skipif(IS_WHOLE, reason="the page is about to be written")
def test_the_page_counts_the_kills_that_there_are() -> None:
    found = PAGE.read_text(encoding="utf-8")
    assert section_of_kills() in found, f"{REWRITE} writes {PAGE.name} again"


def seen_in(table: Path) -> list[Row]:
    """What a reader sees, who finds no table, or one without columns, until one is made."""
    try:
        found = pyhudi.read_table(table)
    except TableNotFoundError:
        return []
    return tuples(found.select(SCHEMA.names)) if found.num_rows else []


def check_end(kill: Kill, ended: Ended, seen: list[Row], before: Before) -> None:
    """A job says that it succeeded where readers see what it did, and names what was killed."""
    victim = kill.trap.victim
    if victim == DRIVER:
        assert ended.code == -signal.SIGKILL, ended.said
        return
    if ended.code == 0:
        assert seen == before.after, ended.said
    else:
        assert ended.code == EXIT_PLATFORM, ended.said
        (line,) = [line for line in ended.said.splitlines() if line.startswith(FAILURE_MARKER)]
        assert KILLED[victim] in line
        assert kill.script not in ("upsert.py", "bootstrap.py") or seen == before.before
    if victim == WORKER:
        is_committed = kill.script == "upsert.py" and kill.stage == "compacted files"
        assert (ended.code == 0) is (kill.trap.times < ATTEMPTS or is_committed), ended.said
