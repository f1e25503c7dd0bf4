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
    """To the Spark application: on the history server, or its own page while it runs."""

    name = "Spark application"

    def get_link(
        self,
        operator: BaseOperator,
        *,
        ti_key: TaskInstanceKey,  # noqa: ARG002 - Airflow's signature
    ) -> str:
        """The address; empty when no Spark ran, or it is not known where."""
        application: Mapping[str, Any] = _told(operator).get("application") or {}
        history = str(conf.get(SECTION, HISTORY, fallback="") or "")
        if history and application.get("id"):
            return history.replace("{application_id}", str(application["id"]))
        return str(application.get("ui") or "")


def _told(operator: Any) -> Mapping[str, Any]:
    """What the job of a task answered, where the task ran in this process."""
    told: Mapping[str, Any] = getattr(operator, "told", None) or {}
    return told
