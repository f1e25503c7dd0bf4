"""A write that was killed before its commit point: no reader sees it, the next writer undoes it."""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.tickets import take_ticket
from tests.interop import ours
from tests.interop.hudi import ROOT, RealHudi
from tests.interop.killed_writer import KILLED
from tests.interop.model import TableModel
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.scenarios import Scenario

SCENARIO = Scenario("killed", partitions=("region",))


@dataclass(frozen=True)
class Killed:
    """The table, its rows, and the instant that never completed."""

    path: Path
    model: TableModel
    instant: str


@pytest.fixture(scope="module")
def killed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    folder = tmp_path_factory.mktemp("killed")
    path, source = folder / "table", folder / "source.parquet"
    model, first = SCENARIO.model(), SCENARIO.batch(range(30), 1)
    ours.write(spark, path, first, "insert", SCENARIO.options)
    model.upsert(first)
    pq.write_table(SCENARIO.batch(range(20, 40), 2), source)
    options = {**SCENARIO.options, "hoodie.datasource.write.operation": "upsert"}
    command = ["-m", "tests.interop.killed_writer", str(path), str(source), json.dumps(options)]
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == KILLED, done.stderr[-3000:]
    instants = {p.name.split(".")[0] for p in (path / ".hoodie").glob("*.inflight")}
    completed = {p.name.split(".")[0] for p in (path / ".hoodie").glob("*.commit")}
    (instant,) = instants - completed
    assert files_of(path, instant), "the killed write left no file: nothing to prove"
    return Killed(path, model, instant)


@pytest.fixture
def table(killed: Killed, tmp_path: Path) -> Path:
    shutil.copytree(killed.path, tmp_path / "table")
    return tmp_path / "table"


def files_of(table: Path, instant: str) -> list[Path]:
    return [p for p in table.rglob(f"*_{instant}.parquet") if ".hoodie" not in p.parts]


def test_no_reader_sees_a_killed_write(killed: Killed, table: Path, hudi: RealHudi) -> None:
    by_hudi = hudi.read(table)
    assert_same_rows(user_columns(by_hudi), killed.model.rows())
    assert_same_rows(ours.read(table), by_hudi)
    assert_same_rows(ours.read_with_hudi_rs(table), by_hudi)


def test_our_next_write_rolls_a_killed_one_back(killed: Killed, table: Path, hudi: RealHudi, spark):
    model, batch = killed.model.copy(), SCENARIO.batch(range(25, 45), 3)
    ours.write(spark, table, batch, "upsert", SCENARIO.options)
    model.upsert(batch)
    assert files_of(table, killed.instant) == []
    instants = hudi.timeline(table)
    assert killed.instant not in {i["requested"] for i in instants}
    assert [i["state"] for i in instants if i["action"] == "rollback"] == ["COMPLETED"]
    assert_same_rows(user_columns(hudi.read(table)), model.rows())
    assert hudi.failures(table) == []


def test_the_next_write_of_hudi_rolls_our_killed_one_back(
    killed: Killed, table: Path, hudi: RealHudi
) -> None:
    model, batch = killed.model.copy(), SCENARIO.batch(range(25, 45), 3)
    hudi.write(table, batch, "upsert")
    model.upsert(batch)
    assert files_of(table, killed.instant) == []
    by_hudi = hudi.read(table)
    assert_same_rows(user_columns(by_hudi), model.rows())
    assert_same_rows(ours.read(table), by_hudi)


SEVERAL_WRITERS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
}


@pytest.mark.parametrize("mode", [{}, SEVERAL_WRITERS], ids=["one writer", "several writers"])
def test_hudi_minds_no_ticket_of_ours_that_waits(
    mode: dict[str, str], tmp_path: Path, hudi: RealHudi, spark: SparkSession
) -> None:
    """It lies beside the heartbeats, which Hudi lists when it cleans what failed."""
    table, model = tmp_path / "table", SCENARIO.model()
    first = SCENARIO.batch(range(30), 1)
    ours.write(spark, table, first, "insert", SCENARIO.options)
    model.upsert(first)
    now_ms = SystemClock().now_ms()
    ticket = take_ticket(open_storage(str(table)), came_ms=now_ms, until_ms=now_ms + 900_000)
    for number in range(2, 5):
        batch = SCENARIO.batch(range(20, 40), number)
        hudi.write(table, batch, "upsert", options={**mode, "hoodie.clean.commits.retained": "1"})
        model.upsert(batch)
    assert_same_rows(user_columns(hudi.read(table)), model.rows())
    assert_same_rows(ours.read_with_hudi_rs(table), hudi.read(table))
    assert hudi.failures(table) == []
    (table / ticket.path).unlink()
    assert list((table / ".hoodie" / ".heartbeat").glob("[!.]*")) == []
