"""Create, delete or list the savepoints of a Hudi table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from pyhudi.config.instant_text import instant_text
from pyhudi.jobs.savepoint import SavepointRequest

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiSavepointOperator(PyhudiJobOperator):
    """Keep the files of a table as of a write until the savepoint is deleted.

    Neither cleaning nor archiving takes away what a savepoint keeps, and PyhudiRestoreOperator
    brings the table back to it.

    Returns the job's result: ``status`` (``committed``, or ``already_committed`` when the write has
    a savepoint), ``instant``, and ``savepoints``, each with ``instant``, ``user``, ``comment``,
    ``created_ms`` and the number of ``files``.

    :param base_path: Folder or URI of the table. (templated)
    :param mode: ``create`` (default), ``delete`` or ``list``. (templated)
    :param instant: The write, by its digits or as a time with milliseconds; the latest one gets a
        savepoint unless another is named. (templated)
    :param user: Who makes the savepoint; ``airflow`` unless given. (templated)
    :param comment: What it is for; DAG, task and run unless given. (templated)
    """

    changes_rows = False
    template_fields: Sequence[str] = (
        "mode",
        "instant",
        "user",
        "comment",
        *PyhudiJobOperator.template_fields,
    )

    def __init__(
        self,
        *,
        mode: str = "create",
        instant: str | datetime | None = None,
        user: str = "airflow",
        comment: str = "{{ dag.dag_id }}.{{ task.task_id }} {{ run_id }}",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.instant = instant
        self.user = user
        self.comment = comment

    def request(self, context: Context) -> SavepointRequest:
        """The request, with this execution's stamp."""
        is_new = self.mode == "create"
        request = SavepointRequest(
            mode=self.mode,
            instant=instant_text(self.instant) if self.instant else None,
            user=self.user if is_new else "",
            comment=self.comment if is_new else "",
            **self._shared(context),
        )
        request.check()
        return request
