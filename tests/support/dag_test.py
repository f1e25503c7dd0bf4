"""Runs a DAG by Airflow's own ``dag.test``, in a process and an Airflow home of its own.

``python -m tests.support.dag_test FILE DAG_ID RUN_AFTER`` makes a run without a logical date and
prints, behind ``MARKER``, its state, and of each task the state, the tries and what it returned.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.support.source_tree import ROOT

MARKER = "PYHUDI_DAG_RUN "


@dataclass(frozen=True, slots=True, kw_only=True)
class AirflowHome:
    """An Airflow with a database on SQLite, in a folder, and nothing that runs."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "AirflowHome":
        """Make the database, which takes seconds."""
        home = cls(folder=folder)
        airflow = str(Path(sys.executable).parent / "airflow")
        home._run([airflow, "db", "migrate"], {})
        return home

    def run(self, file: Path, dag: str, run_after: str, **environ: str) -> dict[str, Any]:
        """One run of a DAG; what it printed."""
        command = [sys.executable, "-m", "tests.support.dag_test", str(file), dag, run_after]
        said = self._run(command, {"AIRFLOW__CORE__DAGS_FOLDER": str(file.parent), **environ})
        lines = [line for line in said.splitlines() if line.startswith(MARKER)]
        assert lines, said
        found: dict[str, Any] = json.loads(lines[-1].removeprefix(MARKER))
        return found | {"log": said}

    def _run(self, command: list[str], environ: dict[str, str]) -> str:
        settings = {
            **{name: text for name, text in os.environ.items() if "AIRFLOW" not in name},
            "AIRFLOW_HOME": str(self.folder),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'spark_jobs'}",
            "SPARK_LOCAL_IP": "127.0.0.1",
            **environ,
        }
        done = subprocess.run(
            command, env=settings, cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


def main(file: str, dag_id: str, run_after: str) -> None:
    """Run the DAG and print what became of it."""
    from airflow.dag_processing.dagbag import DagBag

    bag = DagBag(dag_folder=file)
    assert bag.import_errors == {}, bag.import_errors
    run = bag.dags[dag_id].test(run_after=datetime.fromisoformat(run_after), logical_date=None)
    tasks = {
        each.task_id: {
            "state": str(each.state),
            "tries": each.try_number,
            "returned": each.xcom_pull(task_ids=each.task_id),
        }
        for each in run.get_task_instances()
    }
    told = {"state": str(run.state), "run_id": run.run_id, "tasks": tasks}
    print(f"{MARKER}{json.dumps(told, default=str)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
