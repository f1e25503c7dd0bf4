"""The plan of a write into hash buckets."""

import numpy as np
import pytest

from pyhudi.errors import TableMismatchError
from pyhudi.filegroup.names import hash_bucket_file_id, hash_bucket_of
from pyhudi.filegroup.slices import AppendTarget, FileSlice
from pyhudi.write.plan.hash_buckets import NOWHERE, assign_hash_buckets, hash_groups, hash_profile
from tests.support.slices import slice_of

UUID = "951c49bd-8c75-d3d5-ebf2-35b10000abcd"


def file(bucket: int, partition: str = "p", tail: str = UUID) -> FileSlice:
    return slice_of(hash_bucket_file_id(bucket, tail), 100, partition=partition)


def counts(**partitions: list[int]) -> dict[str, np.ndarray]:
    return {name: np.array(rows, dtype=np.int64) for name, rows in partitions.items()}


def test_a_file_id_begins_with_its_bucket_in_eight_digits() -> None:
    assert hash_bucket_file_id(7, UUID) == f"00000007{UUID[8:]}-0"
    assert hash_bucket_of(hash_bucket_file_id(123, UUID)) == 123
    assert hash_bucket_of(f"{UUID}-0") is None
    assert hash_bucket_of("00000007") is None


def test_rows_go_to_the_file_group_of_their_bucket_or_open_it() -> None:
    groups = hash_groups([file(1)], 3)
    batch = counts(p=[5, 2, 0], q=[0, 0, 4])
    plan = assign_hash_buckets(batch, groups, opens=True, new_file_id="f{}".format)
    found = [(b.partition, b.file_id, b.updates, b.inserts) for b in plan.buckets]
    assert found == [("p", "f0", 0, 5), ("p", file(1).file_id, 2, 0), ("q", "f2", 0, 4)]
    chosen = plan.shares["p"].bucket_of(np.array([0, 1, 1, 2], dtype=np.uint64))
    assert chosen.tolist() == [0, 1, 1, NOWHERE]
    profile = hash_profile(batch, groups, opens=True)
    assert (profile.inserts, profile.updates) == ({"p": 5, "q": 4}, {("p", file(1).file_id): 2})


def test_rows_are_appended_where_there_is_a_log() -> None:
    place = AppendTarget(partition="p", file_id=file(1).file_id, base_instant="1")
    plan = assign_hash_buckets(
        counts(p=[0, 2, 1]),
        hash_groups([file(1)], 3),
        opens=True,
        new_file_id="f{}".format,
        logs={("p", place.file_id): place},
    )
    assert [(b.base, b.log) for b in plan.buckets] == [(None, place), (None, None)]


def test_deletes_open_nothing() -> None:
    groups = hash_groups([file(1)], 3)
    batch = counts(p=[5, 2, 0], q=[0, 0, 4])
    plan = assign_hash_buckets(batch, groups, opens=False, new_file_id="f{}".format)
    assert [(b.partition, b.updates) for b in plan.buckets] == [("p", 2)]
    assert plan.shares["q"].bucket_of(np.array([2], dtype=np.uint64)).tolist() == [NOWHERE]
    assert hash_profile(batch, groups, opens=False).inserts == {}


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([file(3)], "none of 3 buckets"),
        ([slice_of(f"{UUID}-0", 100)], "none of 3 buckets"),
        ([file(1), file(1, tail=UUID.replace("8c75", "8c76"))], "same bucket"),
    ],
)
def test_file_groups_of_another_making_are_refused(files: list[FileSlice], message: str) -> None:
    with pytest.raises(TableMismatchError, match=message):
        hash_groups(files, 3)
