"""Runs without a data interval, and those whose interval is empty, in plain words.

Airflow 3 gives no interval to runs that are started by hand without a date or by an asset, and one
of length zero to runs of a plain cron text such as ``"@daily"``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from jinja2 import UndefinedError

from airflow_provider_pyhudi.exceptions import PyhudiRequestError

if TYPE_CHECKING:
    from airflow.sdk import Context

_NEVER_BACKFILLED = frozenset(
    {
        *("AssetTriggeredTimetable", "PartitionedAssetTimetable", "PartitionedAtRuntime"),
        *("NullTimetable", "OnceTimetable", "ContinuousTimetable"),
    }
)
"""Timetables of DAGs that Airflow makes no backfill of."""
_OF_AN_ORDER = re.compile(r"precombine|ordering|merge")
_OF_AN_INTERVAL = re.compile(r"\bdata_interval_(start|end)\b")
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


def asks_for_interval(operator: Any, names: Iterable[str]) -> bool:
    """Whether templates ask for the data interval, by which they choose what is written."""
    return any(_OF_AN_INTERVAL.search(str(getattr(operator, name, None) or "")) for name in names)


def warn_of_no_ordering(task: Any) -> None:
    """Warn of an upsert by which a backfill of old data would overwrite newer rows.

    Of one that is known to be so when its DAG is parsed. Not: of a table that is there, whose own
    ordering counts; and a properties file may say anything.
    """
    options = task.hoodie_conf or {}
    is_said = (
        task.ordering_field
        or task.props
        or not isinstance(options, Mapping)
        or any(_OF_AN_ORDER.search(str(name)) for name in options)
        or task.operation not in (None, "upsert")
    )
    if is_said or not task.has_dag():
        return
    if type(task.dag.timetable).__name__ in _NEVER_BACKFILLED:
        return
    warnings.warn(
        f"{task.dag.dag_id}.{task.task_id} upserts without an ordering_field, and its DAG can be "
        "backfilled: unless the table has an ordering field already, old data that comes late "
        "overwrites newer rows. Give ordering_field a column, or airflow.data_interval_end; "
        'hoodie_conf={"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"} says that the last to '
        "come is to win",
        stacklevel=4,
    )


def hint_at_empty_interval(context: Context) -> str | None:
    """What to change in a run whose interval is of length zero; None in any other run."""
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    if start is None or start != end:
        return None
    return (
        f"this run's data interval is empty: it begins and ends at {start.isoformat()}, so no row "
        'lies between data_interval_start and data_interval_end. A schedule such as "@daily" '
        "makes such runs in Airflow 3; for the day before, give the DAG "
        'schedule=CronDataIntervalTimetable("@daily", timezone="UTC")'
    )
