"""Take a Hudi table back to a savepoint."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from pyhudi.config.instant_text import instant_text
from pyhudi.jobs.restore import RestoreRequest

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiRestoreOperator(PyhudiJobOperator):
    """Take a table back to a savepoint: everything after it is undone, the newest first.

    A restore that did not end, by whomever, is finished; the next write does so too. Readers see
    the savepoint as soon as it begins.

    Returns the job's result: ``status`` (``committed``, ``already_committed``, or ``nothing_to_do``
    when nothing came after the savepoint), ``instant``, which is the restore's, and the number of
    ``files`` that were ``deleted``, or got a block ``appended`` that takes others back.

    :param base_path: Folder or URI of the table. (templated)
    :param instant: The savepoint, by the digits of its write or as a time with milliseconds.
        (templated)
    """

    template_fields: Sequence[str] = ("instant", *PyhudiJobOperator.template_fields)

    def __init__(self, *, instant: str | datetime, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.instant = instant

    def request(self, context: Context) -> RestoreRequest:
        """The request, with this execution's stamp."""
        request = RestoreRequest(instant=instant_text(self.instant), **self._shared(context))
        request.check()
        return request
