"""Compact the log files of a merge-on-read table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_pyhudi.operators.job import PyhudiJobOperator, texts
from airflow_provider_pyhudi.stamp import commit_stamp, idempotency_key
from pyhudi.jobs import CompactionRequest

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiCompactionOperator(PyhudiJobOperator):
    """Plan a compaction, run it, or take its plan back, once per task execution.

    Returns the job's result: ``status`` (``scheduled``, ``committed``, ``already_committed``,
    ``unscheduled`` or ``nothing_to_do``), ``instant``, which is the plan's, and what the job
    measured.

    Plans that others made can be run by tasks of their own: map over
    ``PyhudiHook().pending_compactions(base_path)`` with ``mode="execute"`` and
    ``expand(instant=...)``.

    With ``kind="log_compaction"`` the log blocks of a file slice become one block, and no base file
    is written: reads meet fewer blocks, for less than a compaction takes.

    :param base_path: Folder or URI of the table. (templated)
    :param kind: ``compaction`` (default) or ``log_compaction``. (templated)
    :param mode: ``schedule_and_execute`` (default), ``schedule``, ``execute`` or ``unschedule``.
        (templated)
    :param instant: The compaction to execute or unschedule; without it the oldest pending one is
        executed. (templated)
    :param strategy: Which file slices a compaction takes, by Hudi's Java class; a log compaction
        has none. (templated)
    :param max_delta_commits: Delta commits since the last compaction that make the next one due;
        5 by default. A log compaction goes by ``hoodie.log.compaction.blocks.threshold`` in
        ``hoodie_conf``. (templated)
    :param hoodie_conf: Further Hudi options under Hudi's own keys. (templated)
    :param props: File of Hudi options, on the machine of the driver. (templated)
    :param commit_metadata: Entries for the plan's and the commit's extra metadata, beside those
        that say which task made them. (templated)
    :param key: The idempotency key; by default one per execution of the task. (templated)
    """

    job: ClassVar[str] = "compaction"
    template_fields: Sequence[str] = (
        "kind",
        "mode",
        "instant",
        "strategy",
        "max_delta_commits",
        "hoodie_conf",
        "props",
        "commit_metadata",
        "key",
        *PyhudiJobOperator.template_fields,
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **PyhudiJobOperator.template_fields_renderers,
        "hoodie_conf": "json",
        "commit_metadata": "json",
    }

    def __init__(  # noqa: PLR0913 - one argument per flag of the job, all by keyword
        self,
        *,
        kind: str = "compaction",
        mode: str = "schedule_and_execute",
        instant: str | None = None,
        strategy: str | None = None,
        max_delta_commits: int | str | None = None,
        hoodie_conf: Mapping[str, Any] | None = None,
        props: str | None = None,
        commit_metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        self.mode = mode
        self.instant = instant
        self.strategy = strategy
        self.max_delta_commits = max_delta_commits
        self.hoodie_conf = hoodie_conf
        self.props = props
        self.commit_metadata = commit_metadata
        self.key = key

    def request(self, context: Context) -> CompactionRequest:
        """The request, with this execution's key and stamp."""
        tables, most = self._tables(), self.max_delta_commits
        request = CompactionRequest(
            base_path=tables.table_uri(self.base_path),
            kind=self.kind,
            mode=self.mode,
            instant=self.instant,
            strategy=self.strategy,
            max_delta_commits=None if most is None else str(most),
            hoodie_conf=texts(self.hoodie_conf),
            props=self.props,
            storage_options=tables.storage_options,
            commit_metadata=commit_stamp(context) | texts(self.commit_metadata),
            idempotency_key=self.key or idempotency_key(context),
            verbose=self._verbose,
        )
        request.check()
        return request
