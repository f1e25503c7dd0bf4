"""Who asked for a commit: the idempotency key and the entries stamped into the commit."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.sdk import Context

DISTRIBUTION = "airflow-provider-pyhudi"


def first_try(context: Context) -> int:
    """The number of the first try since this task was last cleared.

    Airflow raises ``max_tries`` when a task is cleared and counts ``try_number`` on, so this is the
    same for all retries and another after a clear. ``dag_run.clear_number`` would not do: it also
    rises when some other task of the run is cleared between two tries.
    """
    ti = context["ti"]
    return int(ti.max_tries) - int(context["task"].retries or 0) + 1


def idempotency_key(context: Context) -> str:
    """A key that all tries of one execution of a task share, and no other execution has."""
    ti = context["ti"]
    identity = [ti.dag_id, ti.task_id, ti.run_id, ti.map_index, first_try(context)]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


def key_since(context: Context, *, is_own_key: bool) -> str:
    """A time before the first try of what an idempotency key stands for, as ISO 8601.

    That is the start of the DAG run, which no task of it begins before. Clearing some task sets it
    anew, maybe between two tries of this one, and a key of the user's own may stand for earlier
    executions: in both cases it is when the run was to begin.
    """
    run = context["dag_run"]
    is_first = run.clear_number == 0 and not is_own_key
    since = (run.start_date if is_first else None) or run.run_after
    return str(since.isoformat())


def slot_key(context: Context) -> str:
    """A key of the part of the source that a task execution writes, whichever run or try it is of.

    That is its data interval; a run without one is a part of its own, unless it has a partition.
    """
    ti, run = context["ti"], context["dag_run"]
    begin, end = context.get("data_interval_start"), context.get("data_interval_end")
    part = [_text(begin), _text(end)] if begin and end else getattr(run, "partition_key", None)
    identity = [ti.dag_id, ti.task_id, part or ti.run_id, ti.map_index]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


def slot_since(context: Context) -> str:
    """A time before anybody can have written the slot, as ISO 8601: when its run was to begin.

    A run by hand for an interval of the past begins later than the scheduled one of the interval.
    """
    times = (context["dag_run"].run_after, context.get("data_interval_end"))
    return str(min(time for time in times if time is not None).isoformat())


def interval_end(context: Context) -> str:
    """The end of the data interval, or when the run was to begin where it has none; ISO 8601."""
    return str((context.get("data_interval_end") or context["dag_run"].run_after).isoformat())


def commit_stamp(context: Context) -> dict[str, str]:
    """Entries for the commit's extra metadata, all under ``airflow.``, absent dates left out."""
    ti, run = context["ti"], context["dag_run"]
    entries: dict[str, Any] = {
        "dag_id": ti.dag_id,
        "task_id": ti.task_id,
        "run_id": ti.run_id,
        "map_index": ti.map_index,
        "try_number": ti.try_number,
        "first_try": first_try(context),
        "ti_id": ti.id,
        "clear_number": run.clear_number,
        "run_type": run.run_type,
        "run_after": run.run_after,
        "logical_date": context.get("logical_date"),
        "data_interval_start": context.get("data_interval_start"),
        "data_interval_end": context.get("data_interval_end"),
        "partition_key": getattr(run, "partition_key", None),
        "provider_version": provider_version(),
    }
    return {f"airflow.{name}": _text(value) for name, value in entries.items() if value is not None}


def provider_version() -> str | None:
    """The version of this distribution, None when it runs from a checkout that is not installed."""
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def _text(value: Any) -> str:
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    return str(getattr(value, "value", value))
