"""A table passes from this engine to real Hudi and back; at each stop everyone reads the same."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.model import TableModel
from tests.interop.rows import META_COLUMNS, assert_same_rows, user_columns, without
from tests.interop.scenarios import SCENARIOS, Scenario


@dataclass(frozen=True)
class Written:
    """A table that this engine wrote: first rows, an upsert, a delete."""

    path: Path
    model: TableModel
    after_first: TableModel
    first_instant: str


@pytest.fixture(scope="session")
def written(request, spark: SparkSession, tmp_path_factory) -> dict[str, Written]:
    """Tables by scenario, each written once and copied by the tests that change it."""
    return {}


def table_of(
    scenario: Scenario,
    written: dict[str, Written],
    spark: SparkSession,
    factory: pytest.TempPathFactory,
) -> Written:
    if scenario.name not in written:
        path = factory.mktemp(scenario.name) / "table"
        written[scenario.name] = write_three_times(scenario, spark, path)
    return written[scenario.name]


def write_three_times(scenario: Scenario, spark: SparkSession, path: Path) -> Written:
    model = scenario.model()
    steps = (
        (scenario.operation, scenario.batch(range(40), 1)),
        ("upsert", scenario.batch(range(30, 50), 2)),
        ("delete", scenario.batch(range(5), 3)),
    )
    after_first, instants = model, []
    for operation, rows in steps:
        done = ours.write(spark, path, rows, operation, scenario.options, source=scenario.source)
        instants.append(done.instant)
        model.delete(rows) if operation == "delete" else model.upsert(rows)
        if len(instants) == 1:
            after_first = model.copy()
    return Written(path, model, after_first, instants[0])


@pytest.fixture(params=SCENARIOS, ids=lambda scenario: scenario.name)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    return request.param


@pytest.fixture
def table(scenario: Scenario, written: dict[str, Written], spark, tmp_path_factory) -> Written:
    return table_of(scenario, written, spark, tmp_path_factory)


def test_hudi_reads_and_validates_what_we_wrote(table: Written, hudi: RealHudi) -> None:
    by_hudi = hudi.read(table.path)
    assert_same_rows(user_columns(by_hudi), table.model.rows())
    assert_same_rows(ours.read(table.path), by_hudi)
    assert hudi.failures(table.path) == []


def test_hudi_resolves_the_columns_in_the_order_we_give_them(table: Written, hudi: RealHudi):
    fields = json.loads(hudi.ask("schema", table=str(table.path))["avro"])["fields"]
    names = [*META_COLUMNS, *(field["name"] for field in fields)]
    assert pyhudi.read_table(str(table.path)).schema.names == names
    assert names[len(META_COLUMNS) :] == table.model.schema.names


def test_hudi_travels_back_in_time_over_our_commits(table: Written, hudi: RealHudi) -> None:
    by_hudi = hudi.read(table.path, as_of=table.first_instant)
    assert_same_rows(user_columns(by_hudi), table.after_first.rows())
    assert_same_rows(ours.read(table.path, as_of=table.first_instant), by_hudi)


def test_hudi_reads_the_changes_since_our_first_commit(
    table: Written, scenario: Scenario, hudi: RealHudi
) -> None:
    changed = hudi.read(table.path, begin=table.first_instant)
    wanted = [r for r in hudi.read(table.path) if r["_hoodie_commit_time"] > table.first_instant]
    # Hudi's incremental query gives partition columns as the path spells them, escapes included.
    assert_same_rows(without(changed, scenario.partitions), without(wanted, scenario.partitions))
    assert len(wanted) == 20


def test_hudi_and_we_take_turns_in_writing(
    table: Written, scenario: Scenario, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    path, model = tmp_path / "table", table.model.copy()
    shutil.copytree(table.path, path)

    theirs = scenario.batch(range(40, 60), 4)
    hudi.write(path, theirs, "upsert")
    model.upsert(theirs)
    assert_same_rows(user_columns(ours.read(path)), model.rows())
    assert_same_rows(ours.read(path), hudi.read(path))

    mine, gone = scenario.batch(range(45, 70), 5), scenario.batch(range(10, 15), 6)
    ours.write(spark, path, mine, "upsert", scenario.options, source=scenario.source)
    model.upsert(mine)
    ours.write(spark, path, gone, "delete", scenario.options, source=scenario.source)
    model.delete(gone)
    by_hudi = hudi.read(path)
    assert_same_rows(user_columns(by_hudi), model.rows())
    assert_same_rows(ours.read(path), by_hudi)
    assert hudi.failures(path, exercise=False) == []


def test_hudi_rs_reads_what_we_wrote(table: Written) -> None:
    found = ours.read_with_hudi_rs(table.path)
    assert_same_rows(user_columns(found), table.model.rows())
    assert_same_rows(found, ours.read(table.path))
