"""Lineage of a task for OpenLineage: which datasets it read and wrote, rows, and columns.

Airflow's provider of OpenLineage calls this, and need not be installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_pyhudi.assets.uri import dataset_name
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from pyhudi.errors import HudiError

_SOURCE = "source"
"""The view that the SQL of a request reads."""

_REPLACES = {"insert_overwrite_table": "OVERWRITE", "delete_partition": "TRUNCATE"}


def lineage_of(task: Any, result: Mapping[str, Any] | None) -> Any:
    """An ``OperatorLineage``: the sources of a task and its table, with what is known of them.

    ``result`` is what the job answered; None before it did, or when it failed.
    """
    from airflow.providers.openlineage.extractors import OperatorLineage

    inputs = list(_inputs(task))
    path = (result or {}).get("base_path") or _whole_path(task)
    output = None if path is None else _output(task, str(path), result, inputs)
    return OperatorLineage(inputs=inputs, outputs=[] if output is None else [output])


def column_sources(sql: str | None, columns: list[str]) -> dict[str, list[str]]:
    """The columns of the source that each column of the table comes from.

    Without SQL, or by the ``*`` in it, that is the one of its name.
    """
    if not sql:
        return {name: [name] for name in columns}
    from openlineage_sql import parse

    found = parse([sql], dialect="spark")
    told = {} if found is None else _told(found.column_lineage)
    named = {name: [name] for name in columns if "*" in sql}
    return {name: told.get(name, named.get(name, [])) for name in columns if name in told | named}


def _told(lineage: Any) -> dict[str, list[str]]:
    return {
        each.descendant.name: sorted(
            {column.name for column in each.lineage if _is_source(column.origin)}
        )
        for each in lineage
    }


def _is_source(origin: Any) -> bool:
    return origin is None or origin.name == _SOURCE


def _inputs(task: Any) -> Iterator[Any]:
    from airflow.providers.common.compat.openlineage.facet import Dataset

    source = getattr(task, "source", None) or ()
    for path in source.split(",") if isinstance(source, str) else source:
        named = _named(path.strip())
        if named is not None:
            yield Dataset(namespace=named[0], name=named[1])


def _output(task: Any, path: str, result: Mapping[str, Any] | None, inputs: list[Any]) -> Any:
    from airflow.providers.common.compat.openlineage import facet

    named = _named(path)
    if named is None:
        return None
    if not result or not result.get("instant"):
        return facet.Dataset(namespace=named[0], name=named[1])
    columns = _columns(task, path)
    facets: dict[str, Any] = {
        "schema": facet.SchemaDatasetFacet(
            fields=[
                facet.SchemaDatasetFacetFields(name=name, type=kind)
                for name, kind in columns.items()
            ]
        ),
        "columnLineage": _column_lineage(task, list(columns), inputs),
    }
    change = _REPLACES.get(str(result.get("operation")))
    if change:
        facets["lifecycleStateChange"] = facet.LifecycleStateChangeDatasetFacet(
            lifecycleStateChange=facet.LifecycleStateChange[change]
        )
    records = result.get("records") or {}
    statistics = facet.OutputStatisticsOutputDatasetFacet(
        rowCount=sum(int(records.get(name, 0)) for name in ("inserted", "updated", "deleted")),
        size=int(result.get("bytes_written") or 0),
    )
    return facet.OutputDataset(
        namespace=named[0],
        name=named[1],
        facets={name: value for name, value in facets.items() if value is not None},
        outputFacets={"outputStatistics": statistics},
    )


def _column_lineage(task: Any, columns: list[str], inputs: list[Any]) -> Any:
    from airflow.providers.common.compat.openlineage import facet

    if not inputs:
        return None
    sources = column_sources(getattr(task, "sql", None), columns)
    return facet.ColumnLineageDatasetFacet(
        fields={
            name: facet.Fields(
                inputFields=[
                    facet.InputField(namespace=each.namespace, name=each.name, field=field)
                    for each in inputs
                    for field in fields
                ],
                transformationType=None,
                transformationDescription=None,
            )
            for name, fields in sources.items()
            if fields
        }
    )


def _columns(task: Any, path: str) -> dict[str, str]:
    """The own columns of the table and their types, as they are after the commit."""
    from pyhudi.schema.metafields import without_meta

    try:
        schema = _tables(task).get_table(path).schema()
    except HudiError:
        # What the task wrote is committed; lineage is told without columns then.
        return {}
    return {field.name: str(field.type) for field in without_meta(schema)}


def _tables(task: Any) -> PyhudiHook:
    return PyhudiHook(
        task.pyhudi_conn_id,
        storage_options=task.storage_options,
        storage_conn_id=task.storage_conn_id,
    )


def _whole_path(task: Any) -> str | None:
    try:
        return str(_tables(task).table_uri(task.base_path))
    except HudiError:
        return None


def _named(path: str) -> tuple[str, str] | None:
    """Namespace and name of what lies at a path; None for a table of Spark's catalog."""
    if "/" not in path:
        return None
    try:
        return dataset_name(path)
    except HudiError:
        return None
