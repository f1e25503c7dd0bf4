"""Wait for a completed instant on a table's timeline."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from airflow_provider_pyhudi.sensors.waiting import PyhudiTableSensor
from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from airflow_provider_pyhudi.watch.instants import WRITE_ACTIONS


class PyhudiInstantSensor(PyhudiTableSensor):
    """Wait until the table has a completed instant, and return the newest that fits all conditions.

    Which instants there are is told by the names in the timeline folder; who made one and what it
    touched, by its own file. Instants that were archived are looked through too where ``after`` or
    an interval says from when on, and the one of ``instant`` in any case.

    :param base_path: Folder or URI of the table. (templated)
    :param instant: Wait for exactly this instant, such as the one an upsert task returned; its
        digits, or a time with milliseconds. One that turns out to be None, since that task wrote
        nothing, is not waited for: the sensor is done at once and returns None. (templated)
    :param after: Wait for an instant later than this one: its digits, or a date or time as Airflow
        has them, such as ``{{ dag_run.run_after }}``, ``{{ ds }}`` or a ``datetime``. One without a
        zone is in that of the table's timeline; an empty text is no condition. (templated)
    :param actions: Actions that count; those that write rows by default. (templated)
    :param partition: Partition path, or several, one of which the instant wrote to or replaced;
        ``*`` stands for any characters. (templated)
    :param written_by_dag: The DAG whose task made it. (templated)
    :param written_by_run: The DAG run whose task made it. (templated)
    :param interval_start: Begin of the data interval that is waited for. Commits of this provider
        say of which interval they are; where the table is written in shorter ones, all that it
        takes to cover it are waited for, and the newest is returned. (templated)
    :param interval_end: Its end. (templated)
    """

    trigger = PyhudiInstantTrigger
    template_fields: Sequence[str] = (
        *PyhudiInstantTrigger.arguments,
        *PyhudiTableSensor.template_fields,
    )

    def __init__(  # noqa: PLR0913 - what the sensor is told, all by keyword
        self,
        *,
        instant: str | datetime | None = None,
        after: str | date | None = None,
        actions: Sequence[str] = WRITE_ACTIONS,
        partition: str | Sequence[str] | None = None,
        written_by_dag: str | None = None,
        written_by_run: str | None = None,
        interval_start: str | datetime | None = None,
        interval_end: str | datetime | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.instant = instant
        self.after = after
        self.actions = actions
        self.partition = partition
        self.written_by_dag = written_by_dag
        self.written_by_run = written_by_run
        self.interval_start = interval_start
        self.interval_end = interval_end
        self._asks(**self._conditions())
