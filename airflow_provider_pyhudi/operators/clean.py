"""Delete the files of a table that no retained instant needs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from pyhudi.config.instant_text import instant_text
from pyhudi.jobs.clean import CleanRequest

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiCleanOperator(PyhudiJobOperator):
    """Plan a clean, run it, or say what it would delete.

    Writes clean by themselves; this is for tables whose writes have ``hoodie.clean.automatic``
    off, or to clean once by another policy. A clean that died, ours or Hudi's, is finished first.

    Returns the job's result: ``status`` (``committed``, ``scheduled``, ``already_committed``,
    ``planned`` or ``nothing_to_do``), ``instant``, ``files`` with how many were ``deleted``,
    ``bytes_deleted``, and with ``dry_run`` ``by_partition``. A try that comes again needs no key of
    the earlier one: it deletes what is old by then, and no more.

    :param base_path: Folder or URI of the table. (templated)
    :param mode: ``schedule_and_execute`` (default; ``scheduleAndExecute``, as Hudi writes it, is
        the same), ``schedule`` or ``execute``. (templated)
    :param instant: The planned clean to execute, by its digits or as a time with milliseconds;
        without it all that are planned are executed. (templated)
    :param policy: What decides which files stay: ``KEEP_LATEST_COMMITS`` (default),
        ``KEEP_LATEST_FILE_VERSIONS`` or ``KEEP_LATEST_BY_HOURS``. (templated)
    :param retain_commits: Latest commits whose files stay; 10 by default. The numbers of the other
        policies are in ``hoodie_conf``. (templated)
    :param dry_run: Say how many files and bytes of each partition would go, and delete nothing.
    """

    changes_rows = False
    template_fields: Sequence[str] = (
        "mode",
        "instant",
        "policy",
        "retain_commits",
        *PyhudiJobOperator.template_fields,
    )

    def __init__(
        self,
        *,
        mode: str = "schedule_and_execute",
        instant: str | datetime | None = None,
        policy: str | None = None,
        retain_commits: int | str | None = None,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.instant = instant
        self.policy = policy
        self.retain_commits = retain_commits
        self.dry_run = dry_run

    def request(self, context: Context) -> CleanRequest:
        """The request, with this execution's stamp."""
        most = self.retain_commits
        request = CleanRequest(
            mode=self.mode,
            instant=instant_text(self.instant) if self.instant else None,
            policy=self.policy,
            retain_commits=None if most is None else str(most),
            dry_run=self.dry_run,
            **self._shared(context),
        )
        request.check()
        return request
