"""Inserts go where real Hudi would put them: small files first, then new file groups."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.pipeline.bootstrap.bootstrap import bootstrap_table
from tests.interop import ours
from tests.interop.bootstrap_cases import Dataset
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.scenarios import Scenario
from tests.support.orders import HERE, write

SCENARIO = Scenario("sizing", partitions=("region",))
WIDE = {
    "no_small_files": {"hoodie.parquet.small.file.limit": "0"},
    "one_group_takes_all": {},
    "split_by_count": {
        "hoodie.copyonwrite.insert.auto.split": "false",
        "hoodie.copyonwrite.insert.split.size": "25",
        "hoodie.parquet.small.file.limit": "0",
    },
    # Room for 20 rows of 1024 bytes before there is any commit to learn a size from.
    "split_by_size": {
        "hoodie.parquet.max.file.size": "20480",
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.copyonwrite.record.size.estimate": "1024",
    },
}


def groups(hudi: RealHudi, table: Path) -> Counter[str]:
    """How many file groups each partition has.

    Which of several new groups a row goes to is each engine's own hash of the key.
    """
    return Counter(s["partition"] for s in hudi.slices(table))


@pytest.mark.parametrize("operation", ["insert", "upsert"])
@pytest.mark.parametrize("settings", WIDE.values(), ids=WIDE)
def test_inserts_make_as_many_file_groups_as_in_hudi(
    settings: dict[str, str], operation: str, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    options = {**SCENARIO.options, "hoodie.metadata.enable": "false", **settings}
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    # The second write learns the size of a row from files that each engine compresses in its way.
    batches = (range(180),) if settings is WIDE["split_by_size"] else (range(180), range(180, 270))
    for step, numbers in enumerate(batches):
        batch = SCENARIO.batch(numbers, step + 1)
        mode = "append" if step else "overwrite"
        hudi.write(theirs, batch, operation, options=options, mode=mode)
        ours.write(spark, mine, batch, operation, options)
        assert groups(hudi, mine) == groups(hudi, theirs)
    assert_same_rows(user_columns(hudi.read(mine)), user_columns(hudi.read(theirs)))


def test_an_update_stays_in_its_file_group(hudi: RealHudi, spark: SparkSession, tmp_path) -> None:
    options = {**SCENARIO.options, "hoodie.metadata.enable": "false"}
    table = tmp_path / "table"
    ours.write(spark, table, SCENARIO.batch(range(30), 1), "insert", options)
    before = {(s["partition"], s["file_id"]) for s in hudi.slices(table)}
    ours.write(spark, table, SCENARIO.batch(range(30), 2), "upsert", options)
    assert {(s["partition"], s["file_id"]) for s in hudi.slices(table)} == before


SMALL_BLOOMS = {
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.dynamic.max.entries": "100",
}
LIMIT_BYTES = 20_000


def bootstrapped(table: Path, source: Path, options: dict[str, str]) -> None:
    """A table of two skeletons, each below the limit, whose sources are above it."""
    request = BootstrapRequest(base_path=str(table), source=str(source), hoodie_conf=options)
    assert bootstrap_table(HERE, request).status == "committed"
    for folder, is_small in ((table, True), (source, False)):
        sizes = [path.stat().st_size for path in folder.glob("*.parquet")]
        assert len(sizes) == 2
        assert all((size < LIMIT_BYTES) is is_small for size in sizes), sizes


def test_a_file_of_another_place_is_small_to_hudi_by_its_skeleton_and_to_us_with_its_rows(
    hudi: RealHudi, tmp_path: Path
) -> None:
    """Decision 65: the first inserts would else rewrite files of any size."""
    dataset = Dataset("sized", is_partitioned=False, more=SMALL_BLOOMS)
    first, fresh = dataset.rows(range(400), 1), dataset.rows(range(400, 420), 2)
    dataset.write(tmp_path / "source", first)
    options = {
        **dataset.scenario.options,
        "hoodie.metadata.enable": "false",
        "hoodie.parquet.small.file.limit": str(LIMIT_BYTES),
    }
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for table in (mine, theirs):
        bootstrapped(table, tmp_path / "source", options)
    hudi.write(theirs, fresh, "upsert", options=options)
    assert write(mine, fresh, "upsert", options).status == "committed"
    assert groups(hudi, theirs) == {"": 2}
    assert groups(hudi, mine) == {"": 3}
    assert_same_rows(user_columns(hudi.read(mine)), user_columns(hudi.read(theirs)))
    assert hudi.failures(mine, exercise=False) == []
