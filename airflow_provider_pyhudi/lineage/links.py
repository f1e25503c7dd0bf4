"""Links on the page of a task: to its table, and to the Spark application that did the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from airflow.configuration import conf
from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

SECTION, HISTORY = "pyhudi", "spark_history_url"
PLACE = "{application_id}"
"""Where the id of the application goes in the address of a history server."""


class PyhudiTableLink(BaseOperatorLink):
    """To the page of the table, at the instant that the task made."""

    name = "Hudi table"

    def get_link(
        self,
        operator: BaseOperator,
        *,
        ti_key: TaskInstanceKey,  # noqa: ARG002 - Airflow's signature
    ) -> str:
        """The address; empty when the task did not come to its table."""
        told = _told(operator)
        if not told.get("base_path"):
            return ""
        at = {"at": told["instant"]} if told.get("instant") else {}
        base = str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
        return f"{base}/pyhudi/find?{urlencode({'table': told['base_path'], **at})}"


class PyhudiSparkLink(BaseOperatorLink):
    """To the Spark application on the history server.

    Airflow asks for links when a task has ended, and the application's own page is gone by then.
    """

    name = "Spark application"

    def get_link(
        self,
        operator: BaseOperator,
        *,
        ti_key: TaskInstanceKey,  # noqa: ARG002 - Airflow's signature
    ) -> str:
        """The address; empty without a history server, or when no Spark is known to have run."""
        application: Mapping[str, Any] = _told(operator).get("application") or {}
        history = str(conf.get(SECTION, HISTORY, fallback="") or "")
        if not history or not application.get("id"):
            return ""
        if PLACE not in history:
            history = f"{history.rstrip('/')}/history/{PLACE}/jobs/"
        return history.replace(PLACE, str(application["id"]))


def _told(operator: Any) -> Mapping[str, Any]:
    """What the job of a task answered, or how far a task came that failed, in this process."""
    reached, told = getattr(operator, "reached", None) or {}, getattr(operator, "told", None) or {}
    application = told.get("application") or reached.get("application")
    return {**reached, **told, "application": application}
