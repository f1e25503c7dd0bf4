"""The assets of a table: of its rows, of its partitions, and of what looks after it."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, AssetWatcher

from airflow_provider_pyhudi.assets.uri import PARTITIONS, asset_uri
from airflow_provider_pyhudi.triggers.commits import PyhudiCommitTrigger


def table_asset(base_path: str, *, watch: bool = False, **settings: Any) -> Asset:
    """The asset of a table's rows, by the path or URI of the table.

    Every operator that changes rows has it for an outlet, so that a DAG with
    ``schedule=[table_asset(path)]`` runs after each. With ``watch`` the triggerer makes events of
    all commits that change rows, whoever makes them: Hudi on Spark, Flink, or an operator;
    ``settings`` are those of PyhudiCommitTrigger, such as ``poke_interval`` and
    ``storage_conn_id``. A task's commit then has two events, its own and the watcher's.

    Raises:
        OptionError: the path is a template, or has no name as an asset.
    """
    uri = asset_uri(base_path)
    if not watch:
        return Asset(uri=uri)
    trigger = PyhudiCommitTrigger(base_path=base_path, **settings)
    return Asset(uri=uri, watchers=[AssetWatcher(name=f"commits of {uri}", trigger=trigger)])


def partitions_asset(base_path: str) -> Asset:
    """The asset of a table's partitions, which has an event for each that a commit wrote.

    An operator that has it among its ``outlets`` names the partitions there in Airflow's own way,
    by their paths as keys. ``PartitionedAssetTimetable(assets=partitions_asset(path))`` is the
    schedule of a DAG that is to run once for each, with the path as its ``partition_key``; a mapper
    of Airflow's makes a date of it where it has one. A DAG without partitions is not started by
    such events, so they have an asset of their own, and ``table_asset`` its one event a commit.

    Raises:
        OptionError: the path is a template, or has no name as an asset.
    """
    return Asset(uri=f"{asset_uri(base_path)}{PARTITIONS}")


def services_asset(base_path: str) -> Asset:
    """The asset of what looks after a table and changes no row: compaction, cleaning, archiving.

    The operators of these have it for an outlet. Who waits for rows is not woken by it.

    Raises:
        OptionError: the path is a template, or has no name as an asset.
    """
    return Asset(uri=f"{asset_uri(base_path)}/.hoodie")
