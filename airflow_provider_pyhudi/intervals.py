"""Runs without a data interval, and those whose interval is empty, in plain words.

Airflow 3 gives no interval to runs that are started by hand without a date or by an asset, and one
of length zero to runs of a plain cron text such as ``"@daily"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jinja2 import UndefinedError

from airflow_provider_pyhudi.exceptions import PyhudiRequestError

if TYPE_CHECKING:
    from airflow.sdk import Context

_OF_A_DATE = re.compile(
    r"\b(data_interval_start|data_interval_end|logical_date|ds|ds_nodash|ts|ts_nodash"
    r"|ts_nodash_with_tz|prev_data_interval_\w+|prev_start_date_success|prev_end_date_success)\b"
)


def check_templates(operator: Any, names: Iterable[str], context: Context, jinja_env: Any) -> None:
    """Refuse templates that ask for dates which this run does not have.

    Raises:
        PyhudiRequestError: names the argument, what it asks for, and what to write in its place.
    """
    if context.get("logical_date") is not None:
        return
    for name in names:
        value = getattr(operator, name, None)
        asked = _OF_A_DATE.search(str(value)) if value else None
        if asked is None:
            continue
        try:
            operator.render_template(value, context, jinja_env)
        except UndefinedError:
            run = context["dag_run"]
            kind = getattr(run.run_type, "value", run.run_type)
            raise PyhudiRequestError(
                f"{name}= asks for {asked[1]}, and this run ({kind}) has no data interval: Airflow "
                "gives none to runs that are started by hand without a logical date or by an "
                "asset. Start the run with a logical date, or write dag_run.run_after, which "
                "every run has"
            ) from None


def hint_at_empty_interval(context: Context) -> str | None:
    """What to change when nothing was written in a run whose interval is of length zero."""
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    if start is None or start != end:
        return None
    return (
        f"this run's data interval is empty: it begins and ends at {start.isoformat()}, so no row "
        'lies between data_interval_start and data_interval_end. A schedule such as "@daily" '
        "makes such runs in Airflow 3; for the day before, give the DAG "
        'schedule=CronDataIntervalTimetable("@daily", timezone="UTC")'
    )
