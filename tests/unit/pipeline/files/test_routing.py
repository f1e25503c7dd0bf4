"""Buckets share tasks, and their rows find them."""

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.errors import InvariantError
from pyhudi.keys.key_hash import key_hash
from pyhudi.pipeline.files.routing import Routing, _tasks
from pyhudi.write.plan.buckets import BucketPlan, InsertShares, WriteBucket


def bucket(number: int, inserts: int) -> WriteBucket:
    return WriteBucket(
        number=number, partition="p", file_id=f"f{number}", base=None, inserts=inserts
    )


def test_small_buckets_share_a_task_and_the_largest_task_comes_first() -> None:
    sizes = [10, 10, 10, 10, 400, 10]
    tasks = _tasks([bucket(number, inserts) for number, inserts in enumerate(sizes)], parallelism=2)
    assert sorted(number for task in tasks for number in task) == [*range(6)]
    assert (tasks[0], len(tasks)) == ((4,), 3)


def test_new_rows_go_by_the_hash_of_their_key_and_nowhere_without_a_bucket() -> None:
    top = np.iinfo(np.uint64).max
    upper = np.array([top // 2, top], dtype=np.uint64)
    shares = InsertShares(buckets=np.array([7, 3]), upper=upper)
    routing = Routing(
        plan=BucketPlan(buckets=(), by_file={}, shares={"p": shares}),
        bucket_of_file={},
        relocated=frozenset(),
        hash=None,
        shuffle_keys=np.array([], dtype=np.int32),
        schema=pa.schema([]),
        drops_new=False,
        drops_stored=False,
    )
    keys = pa.array([f"k{number}" for number in range(50)])
    expected = [7 if found <= top // 2 else 3 for found in key_hash(keys).tolist()]
    assert routing.bucket_of("p", keys).tolist() == expected
    assert set(expected) == {3, 7}
    with pytest.raises(InvariantError, match="50 new rows of partition 'q' have no bucket"):
        routing.bucket_of("q", keys)
