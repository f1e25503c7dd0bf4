"""What Airflow's user interface is given: the page of tables, and the page of a DAG run."""

from __future__ import annotations

from typing import Any, ClassVar
from urllib.parse import urlsplit

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin

from airflow_provider_pyhudi.page.door import Door

PREFIX = "/pyhudi"
"""Where the page lies below Airflow's own address."""


def _address(rest: str) -> str:
    """An address of the page as Airflow's user interface wants it, a prefix of its own included."""
    base = str(conf.get("api", "base_url", fallback=""))
    return urlsplit(base).path.rstrip("/") + PREFIX + rest


class PyhudiPlugin(AirflowPlugin):
    """The page of tables under Browse, and what a run wrote among the views of the run.

    Every Airflow process imports this, so the page itself waits for its first request.
    """

    name = "pyhudi"
    fastapi_apps: ClassVar[list[Any]] = [
        {"app": Door(), "url_prefix": PREFIX, "name": "Tables of pyhudi"}
    ]
    external_views: ClassVar[list[Any]] = [
        {
            "name": "Hudi tables",
            "href": _address("/"),
            "destination": "nav",
            "category": "browse",
            "url_route": "pyhudi",
        },
        {
            "name": "Hudi tables",
            "href": _address("/run?dag_id={DAG_ID}&run_id={RUN_ID}"),
            "destination": "dag_run",
            "url_route": "pyhudi_run",
        },
    ]
