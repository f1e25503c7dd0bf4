"""What one task reads, and what is refused before any Spark is needed."""

import pytest

from pyhudi.errors import UnsupportedError
from pyhudi.filegroup.slices import BaseFile, FileSlice, LogFile
from pyhudi.spark.reading import read, shared_work
from tests.support.golden import golden_table


def test_change_data_is_refused_before_spark_is_asked() -> None:
    with pytest.raises(UnsupportedError, match="change data of table v6_mor_basic"):
        read(None, golden_table("v6_mor_basic"), {"hoodie.datasource.query.type": "cdc"})


def a_slice(number: int, base_bytes: int, *log_bytes: int) -> FileSlice:
    name = f"g{number}_0-0-0_1.parquet"
    logs = [
        LogFile.of("", f".g{number}_1.log.{version}_0-0-0", size)
        for version, size in enumerate(log_bytes, start=1)
    ]
    return FileSlice(
        partition="",
        file_id=f"g{number}",
        base_instant="1",
        base_file=BaseFile.of("", name, base_bytes),
        log_files=tuple(log for log in logs if log is not None),
    )


def test_small_slices_share_tasks_and_large_ones_have_their_own() -> None:
    small = [a_slice(number, 1_000, 10, 10) for number in range(20)]
    assert [len(task) for task in shared_work(small, 4)] == [5] * 4
    many = [a_slice(number, 1_000, 10, 10) for number in range(1_000)]
    assert {len(task) for task in shared_work(many, 4)} == {10}
    large = [a_slice(number, 100 << 20, 60 << 20) for number in range(5)]
    assert [len(task) for task in shared_work(large, 2)] == [1] * 5
    mixed = [*small[:3], large[0], *small[3:6]]
    assert [len(task) for task in shared_work(mixed, 2)] == [3, 1, 3]
    assert [work for task in shared_work(mixed, 2) for work in task] == mixed


def test_a_slice_of_logs_alone_counts_by_them() -> None:
    logs = a_slice(1, 1, 130 << 20)
    alone = FileSlice(partition="", file_id="g1", base_instant="1", log_files=logs.log_files)
    assert [len(task) for task in shared_work([alone, alone], 1)] == [1, 1]
