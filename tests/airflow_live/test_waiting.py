"""Sensors in all modes and watchers of commits, in a real triggerer that is killed meanwhile."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from tests.airflow_live.processes import wait_until
from tests.airflow_live.server import LiveAirflow
from tests.airflow_live.tables import check_by_hudi, commits_of
from tests.interop.hudi import RealHudi
from tests.support.in_process import REWRITTEN, write

KINDS = ("instant", "partition", "service")
IN_TRIGGERER = ("deferrable", "triggerer", "triggerer_alone")
PATIENCE_S = 600
MODES = ("poke", "reschedule", *IN_TRIGGERER)
COLUMNS = ("id", "part", "ts", "value")
RETAINED = {**REWRITTEN, "hoodie.clean.commits.retained": "60", "hoodie.archive.automatic": "false"}


def commit(folder: Path, key: str) -> str:
    """A commit of somebody else's, to partition x."""
    storage = open_storage(str(folder))
    done = write(storage, {("x", key): (1, "a")}, SystemClock(), options=RETAINED)
    return str(done.instant)


def kill_triggerer(airflow: LiveAirflow) -> None:
    airflow.components["triggerer"].kill()
    airflow.start_component("triggerer")


def test_every_sensor_ends_in_every_mode_though_the_triggerer_is_killed(
    airflow: LiveAirflow, hudi: RealHudi | None
) -> None:
    airflow.rest.wait_for_dag("waiting")
    airflow.rest.unpause("waiting")
    run = airflow.rest.trigger("waiting", conf={"partition": "x"})
    for kind in KINDS:
        for mode in IN_TRIGGERER:
            airflow.rest.wait_for_task("waiting", run, f"{kind}_{mode}", "deferred", PATIENCE_S)
        airflow.rest.wait_for_task("waiting", run, f"{kind}_poke", "running", PATIENCE_S)
    kill_triggerer(airflow)
    instant = commit(airflow.lake / "waited", "a")
    state = airflow.rest.wait_for_run("waiting", run, PATIENCE_S)
    states = {each["task_id"]: each["state"] for each in airflow.rest.tasks("waiting", run)}
    assert state == "success", (states, airflow.failures("waiting"), _end_of(airflow, "scheduler"))
    answers = {"instant": instant, "partition": instant, "service": {"pending_compactions": 0}}
    for kind in KINDS:
        for mode in MODES:
            found = airflow.rest.xcom("waiting", run, f"{kind}_{mode}")
            # A text of digits comes back as a number.
            assert (str(found) if kind != "service" else found) == answers[kind], (kind, mode)
    checked_by_hudi(hudi, airflow.lake / "waited", commits=1)


def checked_by_hudi(hudi: RealHudi | None, table: Path, commits: int) -> None:
    """Real Hudi sees the rows and the commits, as many as were made."""
    assert len(commits_of(table)) == commits
    if hudi is not None:
        # Others have Hudi go on with such tables.
        check_by_hudi(hudi, table, COLUMNS, exercise=False)


def read_keys(airflow: LiveAirflow) -> Counter[str]:
    runs = airflow.rest.runs("watching")
    told = (airflow.rest.xcom("watching", run["dag_run_id"], "read") for run in runs)
    return Counter(key for each in told if each for key in each["keys"])


def test_a_burst_of_others_commits_is_read_once_though_the_triggerer_is_killed(
    airflow: LiveAirflow, hudi: RealHudi | None
) -> None:
    airflow.rest.wait_for_dag("watching")
    airflow.rest.unpause("watching")
    table = airflow.lake / "watched"
    # A watcher tells of what comes after its first look, and the reader reads from the beginning.
    first = {commit(table, "k0")}
    wanted = {"k0"}

    def is_watched() -> bool:
        key = f"k{len(wanted)}"
        wanted.add(key)
        first.add(commit(table, key))
        time.sleep(2)
        return bool(airflow.rest.runs("watching"))

    wait_until(is_watched, seconds=PATIENCE_S, what="a run of the reader")
    for number in range(50):
        key = f"b{number}"
        wanted.add(key)
        commit(table, key)
        if number == 25:
            kill_triggerer(airflow)

    def all_are_read() -> bool:
        return set(read_keys(airflow)) == wanted

    deadline = time.monotonic() + PATIENCE_S
    while not all_are_read() and time.monotonic() < deadline:
        time.sleep(10)
        if not airflow.rest.runs("watching", state=["queued", "running"]) and not all_are_read():
            # The last event of a burst may get no run of its own before another commit comes.
            key = f"later{len(wanted)}"
            wanted.add(key)
            commit(table, key)
    counts = read_keys(airflow)
    assert set(counts) == wanted
    assert set(counts.values()) == {1}
    runs = airflow.rest.runs("watching")
    assert {run["state"] for run in runs} <= {"success", "running", "queued"}
    assert len(runs) < len(wanted)
    told: Any = airflow.rest.xcom("watching", runs[0]["dag_run_id"], "read")
    assert set(told["told"]) & first, "the first run says which commits started it"
    checked_by_hudi(hudi, table, commits=len(wanted))


@pytest.fixture(autouse=True)
def _logs(airflow: LiveAirflow, request: pytest.FixtureRequest) -> Any:
    """The end of the triggerer's log goes with a failure."""
    yield
    print(_end_of(airflow, "triggerer"))


def _end_of(airflow: LiveAirflow, name: str) -> str:
    return (airflow.logs / f"{name}.log").read_text(errors="replace")[-6000:]
