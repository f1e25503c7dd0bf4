"""One table in a DAG: what is written, and the services after it."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_pyhudi.operators.archive import PyhudiArchiveOperator
from airflow_provider_pyhudi.operators.clean import PyhudiCleanOperator
from airflow_provider_pyhudi.operators.compaction import PyhudiCompactionOperator
from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from pyhudi.config.options.archive import AUTOMATIC as ARCHIVES
from pyhudi.config.options.clean import AUTOMATIC as CLEANS
from pyhudi.config.options.compaction import INLINE as COMPACTS

APART = {option.key: "false" for option in (CLEANS, ARCHIVES, COMPACTS)}
"""What a write does by itself, and leaves to the tasks after it."""

_AS_IT_IS: Mapping[str, Any] = {}

_SERVICES: Mapping[str, type[PyhudiJobOperator]] = {
    "compaction": PyhudiCompactionOperator,
    "clean": PyhudiCleanOperator,
    "archive": PyhudiArchiveOperator,
}


class PyhudiTableGroup(TaskGroup):
    """Write a table, compact it when that is due, clean it and archive its old instants.

    The tasks are ``upsert``, ``compaction`` for a merge-on-read table, ``clean`` and ``archive``,
    each after the one before it. The write does none of the services itself, so that it ends when
    its rows are there, and a service that fails is tried again alone. One that has nothing to do is
    green. What is written is skipped with its services where the source is missing and
    ``if_source_missing="skip"``.

    Arguments of the operators are given by name: those of PyhudiUpsertOperator alone go to the
    write, and all others, such as ``base_path``, ``conn_id`` and ``retries``, to every task.

    :param group_id: Name of the group, and the first part of the names of its tasks.
    :param compaction: Arguments of PyhudiCompactionOperator; None leaves it out.
    :param clean: Arguments of PyhudiCleanOperator; None leaves it out.
    :param archive: Arguments of PyhudiArchiveOperator; None leaves it out.
    :param arguments: Those of the write, and of all tasks.
    """

    def __init__(
        self,
        group_id: str,
        *,
        compaction: Mapping[str, Any] | None = _AS_IT_IS,
        clean: Mapping[str, Any] | None = _AS_IT_IS,
        archive: Mapping[str, Any] | None = _AS_IT_IS,
        tooltip: str = "",
        **arguments: Any,
    ) -> None:
        super().__init__(group_id=group_id, tooltip=tooltip)
        own = set(signature(PyhudiUpsertOperator.__init__).parameters)
        shared = {name: value for name, value in arguments.items() if name not in own}
        apart = {**APART, **(shared.pop("hoodie_conf", None) or {})}
        is_merged = arguments.get("table_type") == "MERGE_ON_READ"
        given = {
            "compaction": compaction if is_merged else None,
            "clean": clean,
            "archive": archive,
        }
        with self:
            self.upsert = PyhudiUpsertOperator(
                task_id="upsert", **{**arguments, "hoodie_conf": apart}
            )
            before: Any = self.upsert
            for name, more in given.items():
                if more is not None:
                    task = _SERVICES[name](
                        task_id=name, **{**shared, "hoodie_conf": apart, **dict(more)}
                    )
                    before >> task
                    before = task
