"""Whoever is killed wherever in a real Airflow, the retry leaves one commit and all rows."""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.airflow_live.processes import is_at_work, wait_until
from tests.airflow_live.server import LiveAirflow
from tests.airflow_live.tables import check_by_hudi, commits_of, rows_of
from tests.interop.hudi import RealHudi
from tests.support.points import IS_WHOLE
from tests.support.traps import DRIVER, JVM, NOBODY, WORKER, Trap, release, times_sprung

DAG = "live_killed"
ROWS = pa.table({"id": ["a", "b", "c"], "part": ["p0", "p1", "p0"], "value": ["1", "2", "3"]})
BEGIN = ("create", r"\.commit\.requested$")
FILES = ("open_output", r"\.parquet$")
COMMIT = ("create", r"\.commit$")
AFTER = ("delete_dir", r"\.hoodie/\.temp/")
SUPERVISOR, TASK, ALL = "supervisor", "task", "all of a task"
USER = "user"
"""Somebody who marks the running task as failed and, once its processes are gone, clears it."""


@dataclass(frozen=True)
class Kill:
    """Who is killed when a storage call is about to be made."""

    victim: str
    stage: tuple[str, str]
    when: str

    @property
    def run_id(self) -> str:
        """The name of its run."""
        return f"{self.victim}-{self.when}".replace(" ", "_")

    @property
    def trap(self) -> Trap:
        """What springs in the job; processes of Airflow are killed from outside meanwhile."""
        victim = self.victim if self.victim in (DRIVER, JVM, WORKER) else NOBODY
        return Trap(victim=victim, call=self.stage[0], path=self.stage[1])


STAGES = {"at_begin": BEGIN, "at_files": FILES, "at_commit": COMMIT, "after_commit": AFTER}
EVERY = [
    Kill(victim, stage, when)
    for victim in (DRIVER, JVM, SUPERVISOR, TASK, ALL)
    for when, stage in STAGES.items()
    # The files are opened by a Python worker.
    if stage is not FILES or victim in (SUPERVISOR, TASK, ALL)
]
EVERY += [Kill(WORKER, FILES, "at_files"), Kill(USER, COMMIT, "at_commit")]
FEW = {
    *("driver-at_commit", "Python_worker-at_files"),
    *("all_of_a_task-after_commit", "user-at_commit"),
}
"""What CI tries; PYHUDI_POINTS=all tries every one."""
KILLS = [kill for kill in EVERY if IS_WHOLE or kill.run_id in FEW]


@pytest.fixture(scope="module")
def killed(airflow: LiveAirflow) -> list[Kill]:
    """Every run was started, was hit, and has ended."""
    landing = airflow.lake / "landing"
    landing.mkdir(parents=True, exist_ok=True)
    pq.write_table(ROWS, landing / "orders.parquet")
    airflow.rest.wait_for_dag(DAG)
    airflow.rest.unpause(DAG)
    for kill in KILLS:
        folder = airflow.lake / "traps" / kill.run_id
        folder.mkdir(parents=True)
        kill.trap.lay(folder)
        airflow.rest.trigger(DAG, dag_run_id=kill.run_id)
    outside = [kill for kill in KILLS if kill.trap.victim == NOBODY]
    while outside:
        wait_until(
            lambda: any(_is_hit(airflow, kill) for kill in outside), seconds=1200, what="a trap"
        )
        for kill in [each for each in outside if _is_hit(airflow, each)]:
            if kill.victim == USER:
                _mark_failed_and_clear(airflow, kill)
            else:
                _kill_processes(airflow, kill)
            outside.remove(kill)
    for kill in KILLS:
        airflow.rest.wait_for_run(DAG, kill.run_id, 1200)
    return KILLS


def _is_hit(airflow: LiveAirflow, kill: Kill) -> bool:
    return bool(times_sprung(airflow.lake / "traps" / kill.run_id))


def _kill_processes(airflow: LiveAirflow, kill: Kill) -> None:
    """Kill those of Airflow's processes that carry out a run; the job goes on unless it is hit."""
    folder = airflow.lake / "traps" / kill.run_id
    driver = psutil.Process(int((folder / "driver.pid").read_text()))
    above = driver.parents()
    # From below: the JVM of spark-submit, the task's process, its supervisor, the scheduler.
    jvm, task, supervisor = above[0], above[1], above[2]
    victims = {
        SUPERVISOR: [supervisor],
        TASK: [task],
        ALL: [supervisor, task, jvm, driver],
    }[kill.victim]
    for process in victims:
        with suppress(psutil.NoSuchProcess):
            os.kill(process.pid, signal.SIGKILL)
    release(folder)


def _mark_failed_and_clear(airflow: LiveAirflow, kill: Kill) -> None:
    """The job is about to commit: its processes end, nothing is committed, and it is tried anew."""
    folder = airflow.lake / "traps" / kill.run_id
    driver = psutil.Process(int((folder / "driver.pid").read_text()))
    job = [driver, *driver.parents()[:1]]
    airflow.rest.mark(DAG, kill.run_id, "upsert", "failed")
    wait_until(lambda: not any(map(is_at_work, job)), seconds=300, what="the end of driver and JVM")
    assert commits_of(airflow.lake / "killed" / kill.run_id) == []
    assert airflow.rest.wait_for_run(DAG, kill.run_id, 1200) == "failed"
    release(folder)
    airflow.rest.clear(DAG, kill.run_id, "upsert")


@pytest.mark.parametrize("kill", KILLS, ids=[kill.run_id for kill in KILLS])
def test_the_retry_leaves_one_commit_and_all_rows(
    kill: Kill, killed: list[Kill], airflow: LiveAirflow, hudi: RealHudi | None
) -> None:
    table = airflow.lake / "killed" / kill.run_id
    task = airflow.rest.task(DAG, kill.run_id, "upsert")
    log = airflow.task_log(DAG, kill.run_id, "upsert", task["try_number"])
    assert task["state"] == "success", log
    (extra,) = commits_of(table)
    assert extra["airflow.run_id"] == kill.run_id
    assert _is_hit(airflow, kill)
    assert rows_of(table, "id", "value") == [("a", "1"), ("b", "2"), ("c", "3")]
    returned = airflow.rest.xcom(DAG, kill.run_id, "upsert")
    assert returned["status"] in ("committed", "already_committed")
    assert returned["records"]["inserted"] == 3
    if kill.victim in (SUPERVISOR, TASK, ALL, USER):
        assert task["try_number"] >= 2
    if hudi is not None:
        is_swept = kill.stage is not AFTER
        check_by_hudi(hudi, table, ("id", "value"), is_swept=is_swept, exercise=False)
