"""The operator on a real standalone cluster, whose Python is a packed environment that it sends."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG

import pyhudi
from tests.airflow_live.processes import Component, free_port
from tests.support.airflow import task_context

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = pa.table({"id": ["a", "b", "c"], "part": ["p0", "p1", "p0"], "value": ["1", "2", "3"]})
NEEDED = ("pyarrow", "numpy", "numpy.libs", "fastavro", "pyarrow.libs")
MARK = "run-by-the-packed-python"
SITE = f"import builtins; builtins.open({MARK!r}, 'a').close()\n"
"""What each Python of the environment does first: it leaves a file where it was started."""


def packed_environment(folder: Path) -> Path:
    """A virtual environment with what the engine needs, in one file."""
    home = folder / "environment"
    subprocess.run(
        [sys.executable, "-m", "venv", "--copies", "--without-pip", str(home)], check=True
    )
    (site,) = home.glob("lib/python*/site-packages")
    # Debian's Python has a sitecustomize of its own, which goes before that of an environment.
    (site / "mark.pth").write_text(SITE)
    # Of a plain tar file Spark would lose who may run what.
    archive = folder / "environment.tar.gz"
    origin = Path(find_spec("pyarrow").origin).parents[1]
    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        for part in home.iterdir():
            tar.add(part, part.name)
        for name in NEEDED:
            if (origin / name).is_dir():
                where = (site / name).relative_to(home)
                tar.add(origin / name, str(where), filter=_without_tests)
    shutil.rmtree(home)
    return archive


def _without_tests(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    is_left = "/tests" in entry.name or "__pycache__" in entry.name or "/include" in entry.name
    return None if is_left else entry


@contextmanager
def cluster(folder: Path) -> Iterator[int]:
    """A master and a worker of one core, as ``spark-class`` of pip's pyspark starts them."""
    spark = Path(find_spec("pyspark").origin).parent
    port = free_port()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")},
        "SPARK_HOME": str(spark),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    run = str(spark / "bin" / "spark-class")
    address = f"spark://127.0.0.1:{port}"
    parts = {
        "Master": ("elected leader", "--host", "127.0.0.1", "--port", str(port)),
        "Worker": (
            *("Successfully registered", "--host", "127.0.0.1", "-c", "1", "-m", "768m"),
            address,
        ),
    }
    started: list[Component] = []
    try:
        for name, (said, *arguments) in parts.items():
            kind = f"org.apache.spark.deploy.{name.lower()}.{name}"
            command = [run, kind, "--webui-port", "0", *arguments]
            log = folder / f"{name}.log"
            started.append(Component(name, command, log=log, environment=environment))
            _wait_until_it_says(started[-1], said)
        yield port
    finally:
        for component in reversed(started):
            component.kill()


def _wait_until_it_says(component: Component, said: str) -> None:
    component.wait_until(lambda: said in component.end_of_log(), seconds=180)


def test_executors_run_on_the_python_that_was_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator

    source, table = tmp_path / "rows.parquet", tmp_path / "table"
    pq.write_table(ROWS, source)
    archive = packed_environment(tmp_path)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "PYTHONPATH"):
        monkeypatch.delenv(name, raising=False)
    with cluster(tmp_path) as port:
        connection = {"conn_type": "spark", "host": "spark://127.0.0.1", "port": port}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
        with DAG("flights", schedule=None):
            task = PyhudiUpsertOperator(
                task_id="upsert",
                base_path=str(table),
                source=str(source),
                table_name="orders",
                record_key="id",
                partition_path="part",
                ordering_field="airflow.data_interval_end",
                archives=f"{archive}#environment",
                conf={
                    "spark.pyspark.python": "./environment/bin/python",
                    "spark.driver.host": "127.0.0.1",
                    "spark.ui.enabled": "false",
                },
                executor_memory="512m",
                driver_memory="512m",
            )
        begun = time.monotonic()
        returned = task.execute(task_context(task))
        print(f"{time.monotonic() - begun:.1f} s")
        marks = list((tmp_path / "work").glob(f"app-*/*/{MARK}"))
    assert (returned["status"], returned["records"]["inserted"]) == ("committed", 3)
    assert len(marks) == 1
    rows = pyhudi.read_table(str(table), columns=["id", "value"]).to_pylist()
    assert sorted(row["id"] for row in rows) == ["a", "b", "c"]
