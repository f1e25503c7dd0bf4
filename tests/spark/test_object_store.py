"""Tables on an object store: written by Spark's tasks, read back, and every request counted."""

import pyarrow as pa
import pytest

from pyhudi import open_table, read_table
from pyhudi.spark import read, write
from pyhudi.storage.objects import creating
from tests.support.object_store import StoreServer

pytestmark = pytest.mark.spark

OPTIONS = {
    "hoodie.table.name": "orders",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
}


def rows(count: int, ts: int) -> pa.Table:
    parts = ["x y", "z=1", "ü"]
    return pa.table(
        {
            "id": [f"k{number}" for number in range(count)],
            "part": [parts[number % 3] for number in range(count)],
            "ts": [ts] * count,
        }
    )


def frame(spark, table: pa.Table):
    return spark.createDataFrame(
        [tuple(row.values()) for row in table.to_pylist()], table.schema.names
    )


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_result_counts_the_requests_of_driver_and_tasks(
    spark, store: StoreServer, table_type: str, monkeypatch
) -> None:
    monkeypatch.setattr(creating, "_honoured", set())
    uri = f"s3a://{store.new_bucket()}/lake/orders"
    options = {**OPTIONS, "hoodie.datasource.write.table.type": table_type}
    for count, ts in ((30, 1), (9, 2)):
        data = frame(spark, rows(count, ts))
        with store.counting() as seen:
            found = write(data, uri, options=options, storage_options=store.options)
        kinds = {name: found.requests[name] for name in ("get", "put", "list", "head", "delete")}
        assert kinds == {name: seen[name] for name in kinds}
        assert found.requests["multipart"] == seen["multipart"] == 0
        assert found.requests["markers"] >= 3
        assert found.requests["heartbeat"] >= 2
        assert found.stages["write"]["requests"] >= 6
    back = read_table(uri, storage_options=store.options).select(["id", "ts"])
    assert dict(zip(*back.to_pydict().values(), strict=True)) == {
        f"k{number}": 2 if number < 9 else 1 for number in range(30)
    }
    in_tasks = (
        read(spark, uri, storage_options=store.options) if table_type != "COPY_ON_WRITE" else None
    )
    if in_tasks is not None:
        assert in_tasks.count() == 30
    assert len(open_table(uri, store.options).timeline.completed()) == 2
