"""What tests of the console command take."""

from pathlib import Path

import pytest

from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from tests.support.console import Shell
from tests.support.local_rows import LocalRows
from tests.support.orders import NO_SMALL_FILES, OPERATION, OPTIONS, many, orders, write

RUN = {"airflow.dag_id": "orders_hourly", "airflow.run_id": "scheduled__2026-01-01"}
FEW_KEPT = {
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
}


@pytest.fixture
def pyhudi(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def written(table: Path, options: dict[str, str], times: int = 1) -> list[str]:
    """An insert, an upsert and a delete by a DAG, so many times of other keys; their instants."""
    runner, instants = InProcessRunner(), []
    steps = [
        (operation, range(at + first, at + last), ts)
        for at in range(0, 100 * times, 100)
        for operation, first, last, ts in (
            ("insert", 0, 20, 1),
            ("upsert", 15, 24, 2),
            ("delete", 0, 3, 3),
        )
    ]
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


@pytest.fixture
def archived(tmp_path: Path) -> tuple[Path, list[str]]:
    """A copy-on-write table written ten times, most of it archived; the instants of the writes.

    Partition p9 has one file, of the first write.
    """
    path = tmp_path / "archived"
    first = write(path, orders(("k9999", "p9", 1, "x")), options=OPTIONS | FEW_KEPT).instant
    return path, [first or "", *written(path, OPTIONS | FEW_KEPT, times=3)]
