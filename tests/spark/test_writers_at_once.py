"""A Spark job beside another writer: what it has to write again, from rows that are held."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import pyhudi.spark
from pyhudi.pipeline import staged
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from tests.support import orders as here
from tests.support.local_rows import LocalRows
from tests.support.orders import HERE, LOGGED, OPERATION, OPTIONS, orders, rows_of
from tests.support.rivals import BEGUN
from tests.support.spark_orders import frame

pytestmark = pytest.mark.spark

TYPES = {"rewritten": OPTIONS, "logged": LOGGED}
LOCKED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "FileSystemBasedLockProvider",
}
OLD = orders(("a", "x", 1, "old"), ("b", "y", 1, "old"), ("c", "z", 1, "old"))
OWN = orders(("a", "x", 3, "own"), ("b", "y", 3, "own"), ("n", "w", 3, "own"))
OTHER = orders(("a", "x", 2, "other"))


class Waiting:
    """A storage whose first inflight file waits until it is told to go on."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.is_there, self.goes_on = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create(self, path: str, data: bytes) -> None:
        if BEGUN in path:
            self.is_there.set()
            assert self.goes_on.wait(60)
        self._inner.create(path, data)


@pytest.mark.parametrize("is_earlier", [True, False], ids=["an earlier", "a later"])
@pytest.mark.parametrize("table_type", TYPES)
def test_what_another_has_changed_is_written_again_and_the_source_is_read_once(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table_type: str,
    is_earlier: bool,
) -> None:
    table, options = tmp_path / "table", {**TYPES[table_type], **LOCKED}
    here.write(table, OLD, options=options)
    beside = Waiting(open_storage(str(table)))
    runner = InProcessRunner()
    environment = replace(HERE, runner=runner, open_storage=lambda _: beside)
    chosen = {**options, OPERATION: "upsert"}

    def other() -> None:
        write_rows(environment, LocalRows.of(runner, OTHER), str(table), chosen)

    thread = threading.Thread(target=other)
    write_buckets, tries = staged.write_buckets, list[int]()

    def written_beside(*arguments: Any, **named: Any) -> Any:
        stats = write_buckets(*arguments, **named)
        tries.append(len(stats))
        if len(tries) == 1:
            if not is_earlier:
                thread.start()
            beside.goes_on.set()
            thread.join()
        return stats

    monkeypatch.setattr(staged, "write_buckets", in_this_thread(written_beside, write_buckets))
    if is_earlier:
        thread.start()
        assert beside.is_there.wait(60)
    read = spark.sparkContext.accumulator(0)

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    rows = frame(spark, OWN, tmp_path)
    result = pyhudi.spark.write(rows.mapInArrow(counted, rows.schema), table, options=chosen)
    assert (result.conflicts, result.anomaly) == (1, None)
    assert read.value == len(OWN)
    assert tries == ([3, 1] if is_earlier else [3, 3])
    wanted = {"a": (3, "own"), "b": (3, "own"), "c": (1, "old"), "n": (3, "own")}
    found = pyhudi.read_table(str(table))
    columns = (found[name].to_pylist() for name in ("id", "ts", "value"))
    assert {key: (ts, value) for key, ts, value in zip(*columns, strict=True)} == wanted
    assert len(rows_of(table)) == 4


def in_this_thread(beside: Callable[..., Any], alone: Callable[..., Any]) -> Callable[..., Any]:
    """The one function in this thread; the writer in another thread writes as ever."""
    own = threading.current_thread()

    def chosen(*arguments: Any, **named: Any) -> Any:
        is_own = threading.current_thread() is own
        return (beside if is_own else alone)(*arguments, **named)

    return chosen
