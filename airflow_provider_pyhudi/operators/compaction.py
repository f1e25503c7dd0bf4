"""Compact the log files of a merge-on-read table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from pyhudi.config.instant_text import instant_text
from pyhudi.jobs.compaction import CompactionRequest

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
    :param mode: ``schedule_and_execute`` (default; ``scheduleAndExecute``, as Hudi writes it, is
        the same), ``schedule``, ``execute`` or ``unschedule``. (templated)
    :param instant: The compaction to execute or unschedule, by its digits or as a time with
        milliseconds; without it the oldest pending one is executed. (templated)
    :param strategy: Which file slices a compaction takes, by Hudi's Java class; a log compaction
        has none. (templated)
    :param max_delta_commits: Delta commits since the last compaction that make the next one due;
        5 by default. A log compaction goes by ``hoodie.log.compaction.blocks.threshold`` in
        ``hoodie_conf``. (templated)
    """

    changes_rows = False
    template_fields: Sequence[str] = (
        "kind",
        "mode",
        "instant",
        "strategy",
        "max_delta_commits",
        *PyhudiJobOperator.template_fields,
    )

    def __init__(
        self,
        *,
        kind: str = "compaction",
        mode: str = "schedule_and_execute",
        instant: str | datetime | None = None,
        strategy: str | None = None,
        max_delta_commits: int | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        self.mode = mode
        self.instant = instant
        self.strategy = strategy
        self.max_delta_commits = max_delta_commits

    def request(self, context: Context) -> CompactionRequest:
        """The request, with this execution's key and stamp."""
        most = self.max_delta_commits
        request = CompactionRequest(
            kind=self.kind,
            mode=self.mode,
            instant=instant_text(self.instant) if self.instant else None,
            strategy=self.strategy,
            max_delta_commits=None if most is None else str(most),
            **self._shared(context),
        )
        request.check()
        return request
