"""The example DAGs as they run: what their tasks did, and what they are called in the pages."""

from collections.abc import Iterable
from pathlib import Path

import pytest

import pyhudi
from pyhudi.timeline.instant import Action
from tests.support.example_runs import TaskRun, run_examples
from tests.support.lake import logged, stamp, written
from tests.support.orders import many

pytestmark = pytest.mark.slow

COMMITS = 12
"""More than cleans retain unless they are told to."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table with a planned compaction, and one with files that no reader needs."""
    folder = tmp_path_factory.mktemp("lake")
    logged(folder / "logged")
    for number in range(COMMITS):
        rows = many(range(20), number, "x")
        written(folder / "orders", rows, "orders", "upsert", stamp("orders", number + 1))
    return folder


@pytest.fixture(scope="module")
def runs(lake: Path) -> list[list[TaskRun]]:
    return run_examples(lake, ("maintenance", {}), ("flight_parts", {"month": 2}))


def named(run: Iterable[TaskRun], task: str) -> dict[str | None, object]:
    """What the mapped tasks returned, by their names."""
    return {each.name: each.returned for each in run if each.task == task}


def test_every_task_of_the_examples_succeeds(runs: list[list[TaskRun]]) -> None:
    assert {each.state for run in runs for each in run} == {"success"}


def test_every_table_of_a_lake_is_looked_after_by_a_task_with_its_name(
    runs: list[list[TaskRun]], lake: Path
) -> None:
    maintenance, _ = runs
    done = pyhudi.open_table(lake / "logged").timeline.completed()
    (compacted,) = (each.time for each in done if each.action is Action.COMMIT)
    assert set(named(maintenance, "compaction")) == {f"logged · {compacted}"}
    assert set(named(maintenance, "clean")) == {"logged", "orders"}
    done = pyhudi.open_table(lake / "orders").timeline.completed()
    assert [each.action for each in done][-1] is Action.CLEAN
    assert len(list((lake / "orders").rglob("*.parquet"))) < 2 * COMMITS


def test_sources_and_partitions_are_mapped_over_and_have_readable_names(
    runs: list[list[TaskRun]], lake: Path
) -> None:
    _, parts = runs
    airports = ("EWR", "JFK", "LGA")
    files = {f"flight_parts · {airport}/flights.parquet" for airport in airports}
    assert set(named(parts, "upsert")) == files
    paths = {f"origin={airport}" for airport in airports}
    assert set(named(parts, "fresh")) == paths
    counts = named(parts, "count")
    assert set(counts) == paths
    # So many flights left New York in February 2013.
    assert sum(map(int, counts.values())) == 24_951
    assert len(pyhudi.open_table(lake / "flight_parts").timeline.write_instants()) == 3
