"""From a commit to the DAG run that asked for it, and from a run to the times it was at work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
from airflow.models.taskinstancehistory import TaskInstanceHistory
from airflow.utils.session import create_session
from sqlalchemy import func, select, tuple_

from airflow_provider_pyhudi.page.rights import Rights

_SLACK = timedelta(minutes=10)
"""How far the clocks of a worker and of Airflow's database may lie apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A DAG run and its task, as a commit names them; anybody may have written these texts."""

    dag_id: str
    run_id: str
    task_id: str | None = None
    map_index: int = -1

    @classmethod
    def of(cls, extra: Mapping[str, str | None]) -> Run | None:
        """What the extra metadata of a commit says; None where no task of Airflow made it."""
        dag_id, run_id = extra.get("airflow.dag_id"), extra.get("airflow.run_id")
        if not dag_id or not run_id:
            return None
        index = extra.get("airflow.map_index") or "-1"
        return cls(
            dag_id=dag_id,
            run_id=run_id,
            task_id=extra.get("airflow.task_id"),
            map_index=int(index) if index.isdecimal() else -1,
        )

    @property
    def identity(self) -> tuple[str, str]:
        """What names a run to Airflow."""
        return self.dag_id, self.run_id

    @property
    def address(self) -> str:
        """Where Airflow's user interface shows the run, or its task, below Airflow's address."""
        found = f"dags/{quote(self.dag_id, safe='')}/runs/{quote(self.run_id, safe='')}"
        if self.task_id:
            found += f"/tasks/{quote(self.task_id, safe='')}"
            found += f"/mapped/{self.map_index}" if self.map_index >= 0 else ""
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLink:
    """A run as a page shows it: ``address`` is None where Airflow has it no more."""

    run: Run
    address: str | None


def links_of(runs: Iterable[Run], rights: Rights) -> dict[tuple[str, str], RunLink]:
    """The runs that a user may know of, by their identities; one query for all of them."""
    asked = {run.identity: run for run in runs}
    readable = {dag_id: rights.may_read_runs(dag_id) for dag_id in {each[0] for each in asked}}
    allowed = {identity: run for identity, run in asked.items() if readable[run.dag_id]}
    there = _known(allowed) if allowed else set()
    return {
        identity: RunLink(run=run, address=run.address if identity in there else None)
        for identity, run in allowed.items()
    }


def _known(identities: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of some runs that Airflow has."""
    with create_session() as session:
        query = select(DagRun.dag_id, DagRun.run_id).where(
            tuple_(DagRun.dag_id, DagRun.run_id).in_(list(identities))
        )
        return {(dag_id, run_id) for dag_id, run_id in session.execute(query)}


def span_of(dag_id: str, run_id: str) -> tuple[datetime, datetime | None] | None:
    """From when to when tries of a run's tasks were at work; None for a run that never was.

    The end is None while the run goes on. Tries before a clear count too.
    """
    with create_session() as session:
        run = session.scalar(select(DagRun).where(DagRun.dag_id == dag_id, DagRun.run_id == run_id))
        if run is None:
            return None
        begins = [
            session.scalar(
                select(func.min(table.start_date)).where(
                    table.dag_id == dag_id, table.run_id == run_id
                )
            )
            for table in (TaskInstance, TaskInstanceHistory)
        ]
        first = min((each for each in (*begins, run.start_date) if each is not None), default=None)
        last = run.end_date
    if first is None:
        return None
    return first - _SLACK, None if last is None else last + _SLACK
