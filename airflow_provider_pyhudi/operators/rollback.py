"""Roll back a write of a Hudi table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from pyhudi.config.instant_text import instant_text
from pyhudi.jobs.rollback import RollbackRequest

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiRollbackOperator(PyhudiJobOperator):
    """Take back the latest completed write of a table, or one that did not complete.

    Refused are writes with later ones, with a savepoint, with a plan on top, and those whose older
    files were cleaned. A compaction that did not complete goes back to its plan.

    Returns the job's result: ``status`` (``committed``, or ``already_committed`` when it had been
    rolled back before), ``instant``, which is the rollback's, and the number of ``files`` that were
    ``deleted``, or got a block ``appended`` that takes others back.

    :param base_path: Folder or URI of the table. (templated)
    :param instant: The write to roll back, by its digits or as a time with milliseconds; that of
        another task is ``{{ ti.xcom_pull("upsert")["instant"] }}``. (templated)
    """

    template_fields: Sequence[str] = ("instant", *PyhudiJobOperator.template_fields)

    def __init__(self, *, instant: str | datetime, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instant = instant

    def request(self, context: Context) -> RollbackRequest:
        """The request, with this execution's stamp."""
        request = RollbackRequest(instant=instant_text(self.instant), **self._shared(context))
        request.check()
        return request
