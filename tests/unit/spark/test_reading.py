"""What one task reads, and what is refused before any Spark is needed."""

import pytest

from pyhudi.errors import UnsupportedError
from pyhudi.spark.reading import read, shared_work
from tests.support.golden import golden_table
from tests.support.slices import slice_of


def test_change_data_is_refused_before_spark_is_asked() -> None:
    with pytest.raises(UnsupportedError, match="change data of table v6_mor_basic"):
        read(None, golden_table("v6_mor_basic"), {"hoodie.datasource.query.type": "cdc"})


def test_small_slices_share_tasks_and_large_ones_have_their_own() -> None:
    small = [slice_of(f"g{number}", 1_000, 10, 10) for number in range(20)]
    assert [len(task) for task in shared_work(small, 4)] == [5] * 4
    many = [slice_of(f"g{number}", 1_000, 10, 10) for number in range(1_000)]
    assert {len(task) for task in shared_work(many, 4)} == {10}
    large = [slice_of(f"g{number}", 100 << 20, 60 << 20) for number in range(5)]
    assert [len(task) for task in shared_work(large, 2)] == [1] * 5
    mixed = [*small[:3], large[0], *small[3:6]]
    assert [len(task) for task in shared_work(mixed, 2)] == [3, 1, 3]
    assert [work for task in shared_work(mixed, 2) for work in task] == mixed


def test_a_slice_of_logs_alone_counts_by_them() -> None:
    alone = slice_of("g1", 0, 130 << 20)
    assert [len(task) for task in shared_work([alone, alone], 1)] == [1, 1]
