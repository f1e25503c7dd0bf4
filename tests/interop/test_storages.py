"""Whole tables on servers of every kind, and what real Hudi says of those on HDFS."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import pyhudi
import pyhudi.spark
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.clean import clean_table
from pyhudi.pipeline.compaction import compact_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.storage import Storage
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, rows_of
from tests.support.backends import BUILT, Place, place_on
from tests.support.local_rows import LocalRows
from tests.support.orders import LOGGED, OPERATION, OPTIONS, SCHEMA, many, orders, tuples

NO_SERVICES = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
KINDS = pytest.mark.parametrize("options", [OPTIONS, LOGGED], ids=["copied", "logged"])


class Table:
    """A table of orders at a place, written and served as jobs do it, in this process."""

    def __init__(self, place: Place, options: Mapping[str, str]) -> None:
        self.place, self.options = place, {**options, **NO_SERVICES}
        self.runner = InProcessRunner()
        self.environment = environment_on(self.runner, place.options)

    def write(self, rows: object, operation: str = "upsert") -> JobResult:
        source = LocalRows.of(self.runner, rows)
        chosen = {**self.options, OPERATION: operation}
        return write_rows(self.environment, source, self.place.uri, chosen)

    def compact(self) -> JobResult:
        due = {"hoodie.compact.inline.max.delta.commits": "1"}
        request = CompactionRequest(base_path=self.place.uri, hoodie_conf=due)
        return compact_table(self.environment, request)

    def clean(self) -> JobResult:
        due = {"hoodie.clean.commits.retained": "1"}
        request = CleanRequest(base_path=self.place.uri, hoodie_conf=due)
        return clean_table(self.environment, request)

    def rows(self) -> list[tuple[object, ...]]:
        found = pyhudi.read_table(self.place.uri, storage_options=self.place.options)
        return tuples(found.select(SCHEMA.names))

    def live_a_little(self) -> list[tuple[object, ...]]:
        """Inserts, upserts, deletes, a compaction and a clean; the rows that should be there."""
        statuses = [self.write(many(range(40), 1, "first"), "insert").status]
        statuses.append(self.write(many(range(10, 60), 2, "second")).status)
        statuses.append(self.write(many(range(5), 3, "gone"), "delete").status)
        if "MERGE_ON_READ" in self.options.values():
            assert self.compact().status == "committed"
        statuses.append(self.write(many(range(20, 25), 4, "third")).status)
        assert set(statuses) == {"committed"}
        cleaned = self.clean()
        assert cleaned.status == "committed"
        return tuples(
            many(range(5, 10), 1, "first"),
            many([*range(10, 20), *range(25, 60)], 2, "second"),
            many(range(20, 25), 4, "third"),
        )


@pytest.fixture(params=BUILT)
def place(request: pytest.FixtureRequest) -> Place:
    return place_on(request.param, request)


@pytest.fixture
def on_hdfs(request: pytest.FixtureRequest) -> Place:
    return place_on("hdfs", request)


@KINDS
def test_a_table_lives_on_any_storage(place: Place, options: dict[str, str]) -> None:
    table = Table(place, options)
    assert table.live_a_little() == table.rows()
    left = [each.path for each in place.open().walk(".hoodie")]
    assert not [path for path in left if ".temp/" in path or ".heartbeat/" in path]


@KINDS
def test_hudi_reads_and_validates_what_was_written_on_hdfs(
    hudi: RealHudi, on_hdfs: Place, options: dict[str, str], tmp_path: Path
) -> None:
    table = Table(on_hdfs, options)
    wanted = table.live_a_little()
    local = copied(on_hdfs.open(), tmp_path / "table")
    assert_same_rows(
        hudi.read(local),
        rows_of(pyhudi.read_table(on_hdfs.uri)),
    )
    assert len(hudi.read(local)) == len(wanted)
    assert not hudi.failures(local)


def test_what_hudi_wrote_is_written_on_on_hdfs(
    hudi: RealHudi, on_hdfs: Place, tmp_path: Path
) -> None:
    local = tmp_path / "table"
    options = {**OPTIONS, **NO_SERVICES, "hoodie.write.table.version": "6"}
    hudi.write(local, many(range(20), 1, "first"), "insert", options=options)
    storage = on_hdfs.open()
    for path in sorted(each for each in local.rglob("*") if each.is_file()):
        if path.suffix != ".crc":
            storage.put(path.relative_to(local).as_posix(), path.read_bytes())
    table = Table(on_hdfs, OPTIONS)
    table.write(orders(("k0001", "p1", 2, "second")))
    rows = hudi.read(copied(storage, tmp_path / "back"))
    assert [row["value"] for row in rows if row["id"] == "k0001"] == ["second"]
    assert len(rows) == 20


@pytest.mark.parametrize("name", ["versitygw", "hdfs"])
def test_tasks_of_spark_write_and_read_there(
    name: str, spark: SparkSession, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    there, source = place_on(name, request), f"{tmp_path}/source.parquet"
    for rows in (many(range(40), 1, "first"), many(range(20, 60), 2, "second")):
        pq.write_table(rows, source)
        frame = spark.read.parquet(source)
        pyhudi.spark.write(
            frame.repartition(3), there.uri, options=OPTIONS, storage_options=there.options
        )
    wanted = tuples(many(range(20), 1, "first"), many(range(20, 60), 2, "second"))
    assert Table(there, OPTIONS).rows() == wanted
    found = pyhudi.spark.read(spark, there.uri, storage_options=there.options)
    assert sorted(tuple(row) for row in found.select(*SCHEMA.names).collect()) == wanted


def copied(storage: Storage, folder: Path) -> Path:
    """All files of a storage, in a local folder."""
    for status in storage.walk(""):
        target = folder / status.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(storage.read(status.path))
    return folder
