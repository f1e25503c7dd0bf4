"""A whole run of a DAG by Airflow's own task runner, in a process of their own."""

import os
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pyhudi
from tests.support.dag_test import AirflowHome
from tests.support.orders import orders

BY_ASSET = """
from datetime import datetime, timedelta, timezone

from airflow.sdk import DAG

from airflow_provider_pyhudi.assets.table import table_asset
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator

with DAG("by_asset", schedule=[table_asset("/lake/landed")]):
    PyhudiUpsertOperator(
        task_id="upsert",
        base_path="{folder}/orders",
        source="{folder}/{{{{ dag_run.run_after.strftime('%Y-%m') }}}}.parquet",
        table_name="orders",
        record_key="id",
        partition_path="part",
        ordering_field="airflow.data_interval_end",
        retries=1,
        retry_delay=timedelta(seconds=1),
    )
"""
SUBMIT = """#!/bin/sh
exec "{python}" -m tests.support.job_without_spark "$@"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> AirflowHome:
    return AirflowHome.make(tmp_path_factory.mktemp("airflow"))


@pytest.fixture
def spark_submit(tmp_path: Path) -> dict[str, str]:
    """Variables with which jobs run without Java, the first of them in vain."""
    binary = tmp_path / "bin" / "spark-submit"
    binary.parent.mkdir()
    binary.write_text(SUBMIT.format(python=sys.executable), encoding="utf-8")
    binary.chmod(0o755)
    return {
        "PATH": f"{binary.parent}{os.pathsep}{os.environ['PATH']}",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
        "PYHUDI_FAIL_ONCE": str(tmp_path / "failed"),
    }


def test_a_run_without_a_date_whose_first_try_fails_commits_once(
    home: AirflowHome, tmp_path: Path, spark_submit: dict[str, str]
) -> None:
    """As runs are that an asset starts: without an interval, ``run_after`` orders the rows."""
    file = tmp_path / "dags" / "by_asset.py"
    file.parent.mkdir()
    file.write_text(BY_ASSET.format(folder=tmp_path), encoding="utf-8")
    rows = orders(("k1", "north", 1, "a"), ("k2", "south", 1, "b"))
    pq.write_table(rows.drop_columns("ts"), tmp_path / "2026-11.parquet")
    run = home.run(file, "by_asset", "2026-11-22T00:00:00+00:00", **spark_submit)
    upsert = run["tasks"]["upsert"]
    assert (run["state"], upsert["state"], upsert["tries"]) == ("success", "success", 2)
    table = pyhudi.open_table(str(tmp_path / "orders"))
    (commit,) = table.timeline.completed()
    assert upsert["returned"]["instant"] == commit.time
    stamp = table.active.read_commit(commit).extra_metadata
    assert (stamp["airflow.run_id"], stamp["airflow.first_try"]) == (run["run_id"], "1")
    assert not {"airflow.logical_date", "airflow.data_interval_end"} & set(stamp)
    found = pyhudi.read_table(str(tmp_path / "orders"))
    ends = {each.isoformat() for each in found["airflow_data_interval_end"].to_pylist()}
    assert (found.num_rows, ends) == (2, {"2026-11-22T00:00:00+00:00"})
