"""What an operator tells Airflow of its table: the asset that it has for an outlet, and events."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Asset, AssetAlias

from airflow_provider_pyhudi.assets.table import partitions_asset, services_asset, table_asset
from pyhudi.errors import HudiError

MOST_PARTITIONS = 100
MOST_KEYS = 1_000
"""Events of partitions of one commit. Airflow stores them all while the task waits for its end."""
LONGEST_KEY = 250
"""Characters of a key of a partition that Airflow's database has room for."""
_TOLD = (
    "status",
    "instant",
    "operation",
    "table",
    "base_path",
    "records",
    "bytes_written",
    "partitions",
    "partition_count",
)
_TOLD_OF_A_PARTITION = ("status", "instant", "operation", "table", "base_path")
_log = logging.getLogger(__name__)


def outlets_with_table(task: Any, *, changes_rows: bool) -> list[Any]:
    """The outlets of a task, with that of its table among them.

    A path that is known when the DAG is parsed has its asset there. One that is a template, the
    output of a task, or relative to a connection has an alias, named by the task, which is
    resolved to the asset when the task has run.
    """
    given = list(task.outlets or ())
    asset = _asset(task.base_path, changes_rows=changes_rows)
    is_known = asset is not None and (not task.pyhudi_conn_id or _is_whole(task.base_path))
    if asset is None or not is_known:
        dag = task.dag.dag_id if task.has_dag() else ""
        return [*given, AssetAlias(f"pyhudi {dag}.{task.task_id}")]
    names = {each.uri for each in given if isinstance(each, Asset)}
    return given if asset.uri in names else [*given, asset]


def announce(
    task: Any,
    context: Mapping[str, Any],
    result: Mapping[str, Any],
    partitions: Sequence[str] = (),
) -> None:
    """Say what a job did, in the events of all assets that its task has for outlets.

    ``partitions`` are the paths of all that it wrote to, of which ``result`` may have the first.
    The task keeps the result as ``told``, for its links and its lineage.
    """
    task.told = result
    extra = {name: result.get(name) for name in _TOLD}
    extra["partitions"] = list(extra["partitions"] or ())[:MOST_PARTITIONS]
    of_partitions = _partitions_uri(result["base_path"])
    for outlet in task.outlets or ():
        if isinstance(outlet, Asset) and outlet.uri == of_partitions:
            event = context["outlet_events"][outlet]
            event.extra.update({name: result.get(name) for name in _TOLD_OF_A_PARTITION})
            event.add_partitions(_keys(partitions))
        elif isinstance(outlet, Asset):
            context["outlet_events"][outlet].extra.update(extra)
        elif isinstance(outlet, AssetAlias) and outlet.name.startswith("pyhudi "):
            asset = _asset(result["base_path"], changes_rows=task.changes_rows)
            # An alias has an event only if it is given one: none where nothing was made.
            if asset is not None and result.get("instant"):
                context["outlet_events"][outlet].add(asset, extra=extra)


def _keys(partitions: Sequence[str]) -> list[str]:
    """The paths that Airflow takes for keys; what is left out is said, as the commit stands."""
    named = [path for path in partitions if path.strip() and len(path) <= LONGEST_KEY]
    left_out = len(partitions) - len(named[:MOST_KEYS])
    if left_out:
        _log.warning(
            "%d of %d partitions have no event of their own: Airflow takes keys of 1 to %d "
            "characters, and %d of one task here",
            left_out,
            len(partitions),
            LONGEST_KEY,
            MOST_KEYS,
        )
    return named[:MOST_KEYS]


def _partitions_uri(base_path: str) -> str | None:
    try:
        return str(partitions_asset(base_path).uri)
    except HudiError:
        return None


def _asset(base_path: Any, *, changes_rows: bool) -> Asset | None:
    if not isinstance(base_path, str):
        return None
    try:
        return table_asset(base_path) if changes_rows else services_asset(base_path)
    except HudiError:
        # What is wrong with it is told when the task runs; a template is not wrong at all.
        return None


def _is_whole(base_path: str) -> bool:
    return base_path.startswith(("/", "file:/")) or "://" in base_path
