"""Sorted rows are combined as they come by, whatever batches they come in."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.sorted_rows import combine_sorted
from tests.support.memory import MemoryStorage
from tests.support.tasks import DATA, job_on

SCHEMA = pa.schema([pa.field(RECORD_KEY, pa.string(), nullable=False), *DATA])
# Partition path, key, ordering value; the value says when the row arrived.
Row = tuple[str, str, int]


def keyed(rows: Sequence[tuple[str, str, int, str]]) -> tuple[pa.Table, pa.StringArray]:
    paths, keys, ordering, values = ([*column] for column in zip(*rows, strict=True))
    arrays = [pa.array(keys), pa.array(keys), pa.array(ordering, pa.int64()), pa.array(values)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA), pa.array(paths, pa.string())


def combined(rows: Sequence[Row], size: int) -> list[tuple[str, str, int, str]]:
    arrived = [(*row, str(number)) for number, row in enumerate(rows)]
    ordered = sorted(arrived, key=lambda row: row[:2])
    batches = (keyed(ordered[at : at + size]) for at in range(0, len(ordered), size))
    found = []
    for table, paths in combine_sorted(batches, job_on(MemoryStorage(), "1")):
        assert len(set(paths.to_pylist())) == 1
        for path, row in zip(paths.to_pylist(), table.to_pylist(), strict=True):
            found.append((path, row["id"], row["ts"], row["value"]))
    return found


@given(
    st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("abc"), st.integers(0, 3))),
    st.integers(1, 7),
)
def test_of_each_key_the_highest_and_of_these_the_last_to_arrive_stands(rows: list[Row], size: int):
    wanted: dict[tuple[str, str], tuple[int, str]] = {}
    for number, (path, key, ordering) in enumerate(rows):
        if ordering >= wanted.get((path, key), (0, ""))[0]:
            wanted[path, key] = ordering, str(number)
    assert combined(rows, size) == [(*place, *wanted[place]) for place in sorted(wanted)]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_one_key_in_two_partitions_is_two_records(size: int) -> None:
    found = combined([("q", "a", 1), ("p", "a", 2)], size)
    assert found == [("p", "a", 2, "1"), ("q", "a", 1, "0")]
