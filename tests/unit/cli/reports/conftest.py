"""What tests of reports take."""

from pathlib import Path

import pytest

from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from tests.support.console import Shell
from tests.support.local_rows import LocalRows
from tests.support.orders import NO_SMALL_FILES, OPERATION, OPTIONS, many

RUN = {"airflow.dag_id": "orders_hourly", "airflow.run_id": "scheduled__2026-01-01"}


@pytest.fixture
def pyhudi(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def written(table: Path, options: dict[str, str]) -> list[str]:
    """An insert, an upsert and a delete by a DAG; their instants."""
    runner, instants = InProcessRunner(), []
    steps = (("insert", range(20), 1), ("upsert", range(15, 24), 2), ("delete", range(3), 3))
    for operation, keys, ts in steps:
        done = write_rows(
            environment_on(runner),
            LocalRows.of(runner, many(keys, ts, "x")),
            str(table),
            {**options, OPERATION: operation},
            commit_metadata=RUN,
        )
        instants.append(done.instant or "")
    return instants


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A copy-on-write table of 21 orders in two partitions, written three times by a DAG."""
    written(tmp_path / "orders", OPTIONS)
    return tmp_path / "orders"


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """The same as a merge-on-read table whose updates and deletes are in log files."""
    written(tmp_path / "logged", NO_SMALL_FILES)
    return tmp_path / "logged"
