"""Runs of the example DAGs, in a process of their own that has a database, and no Spark.

``dag.test`` carries out every task as a worker does; a job runs here instead of in Spark, through
the same pipeline. Called as a program with the folder of tables and a run a line, it answers with
the runs as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.source_tree import ROOT

DAGS = ROOT / "dags"


@dataclass(frozen=True, slots=True)
class TaskRun:
    """How one task of a run ended, what it is called where it is mapped, and what it returned."""

    task: str
    name: str | None
    state: str
    returned: Any


def run_examples(lake: Path, *runs: tuple[str, dict[str, Any]]) -> list[list[TaskRun]]:
    """Carry out DAGs one after the other on the tables of a folder; ``runs`` have DAG and conf."""
    with tempfile.TemporaryDirectory(prefix="pyhudi-examples-") as home:
        environment = {
            **os.environ,
            "AIRFLOW_HOME": home,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
            "FLIGHTS_LAKE": str(lake),
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "spark_jobs", DAGS))),
        }
        answer = Path(home, "answer.json")
        command = [sys.executable, "-m", __name__, str(answer), json.dumps(runs)]
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        found = json.loads(answer.read_text(encoding="utf-8"))
    return [[TaskRun(*each) for each in run] for run in found]


def _main(answer: str, runs: str) -> None:
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb

    from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook

    initdb()
    PyhudiSparkSubmitHook.check_machine = lambda _: None
    PyhudiSparkSubmitHook.submit = _submit
    bag = DagBag(dag_folder=str(DAGS))
    assert not bag.import_errors, bag.import_errors
    found = [_run(bag.dags[dag_id], conf) for dag_id, conf in json.loads(runs)]
    Path(answer).write_text(json.dumps(found), encoding="utf-8")


def _run(dag: Any, conf: dict[str, Any]) -> list[tuple[str, str | None, str, Any]]:
    from airflow import settings
    from airflow.models.xcom import XComModel

    run = dag.test(logical_date=None, run_conf=conf)

    def returned(ti: Any) -> Any:
        given = {"run_id": run.run_id, "key": "return_value", "task_ids": ti.task_id}
        asked = XComModel.get_many(**given, map_indexes=ti.map_index)
        (row,) = settings.Session().scalars(asked).all() or (None,)
        return None if row is None else XComModel.deserialize_value(row)

    tasks = sorted(run.get_task_instances(), key=lambda each: (each.task_id, each.map_index))
    return [(ti.task_id, ti.rendered_map_index, str(ti.state), returned(ti)) for ti in tasks]


def _submit(hook: Any, application: str = "", **_: Any) -> None:
    """What spark-submit would have run, without Spark."""
    command = hook._build_spark_submit_command(application)
    request_type, carry_out = _jobs()[Path(application).stem]
    request = request_type.from_args(command[command.index(application) + 1 :])
    Path(request.result_path).write_text(carry_out(request).to_json(), encoding="utf-8")


def _jobs() -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    from functools import partial

    import pyarrow.parquet as pq

    from pyhudi.jobs.clean import CleanRequest
    from pyhudi.jobs.compaction import CompactionRequest
    from pyhudi.jobs.upsert import UpsertRequest
    from pyhudi.pipeline.clean import clean_table
    from pyhudi.pipeline.compaction import compact_table
    from pyhudi.pipeline.write import write_rows
    from pyhudi.runner.in_process import InProcessRunner
    from tests.support.local_rows import LocalRows
    from tests.support.orders import HERE

    def upsert(request: UpsertRequest) -> Any:
        rows = LocalRows.of(InProcessRunner(), pq.read_table(request.source))
        stamp = request.commit_metadata
        return write_rows(HERE, rows, request.base_path, request.options(), commit_metadata=stamp)

    return {
        "upsert": (UpsertRequest, upsert),
        "clean": (CleanRequest, partial(clean_table, HERE)),
        "compaction": (CompactionRequest, partial(compact_table, HERE)),
    }


if __name__ == "__main__":
    _main(*sys.argv[1:])
