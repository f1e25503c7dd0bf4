"""Where every row of a batch goes, whatever the batch and the table are like."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.write import FileSizing
from pyhudi.filegroup.slices import AppendTarget, BaseFile, RowSource
from pyhudi.keys.key_hash import key_hash
from pyhudi.write.plan.buckets import BucketPlan, assign_buckets
from pyhudi.write.plan.profile import WorkloadProfile, planned_stats
from tests.support.slices import base_of as base

SIZING = FileSizing(max_file_size=10_000, small_file_limit=8_000)
RECORD_BYTES = 10


def plan_of(
    inserts: dict[str, int],
    updates: dict[tuple[str, str], int],
    files: Sequence[BaseFile],
    sizing: FileSizing = SIZING,
    new_numbers: Iterator[int] | None = None,
    possible: frozenset[str] = frozenset(),
    **more: Any,
) -> BucketPlan:
    numbers = new_numbers or count()
    by_partition: dict[str, list[BaseFile]] = {}
    for file in files:
        by_partition.setdefault(file.partition, []).append(file)
    return assign_buckets(
        WorkloadProfile(inserts=inserts, updates=updates, possible=possible),
        by_partition,
        sizing=sizing,
        record_size_bytes=RECORD_BYTES,
        new_file_id=lambda: f"new{next(numbers)}-0",
        **more,
    )


def shape(plan: BucketPlan) -> list[tuple[str, int, int]]:
    return [(bucket.file_id, bucket.updates, bucket.inserts) for bucket in plan.buckets]


def test_updates_stay_and_inserts_fill_the_smallest_file_first():
    files = [base("big", 9_000), base("mid", 7_000), base("tiny", 4_000)]
    plan = plan_of({"p": 1000}, {("p", "mid"): 3, ("p", "big"): 2}, files)
    assert shape(plan) == [("big", 2, 0), ("mid", 3, 300), ("tiny", 0, 600), ("new0-0", 0, 100)]
    assert (plan.by_file["p", "mid"], plan.shares["p"].buckets.tolist()) == (1, [2, 1, 3])


def test_files_of_equal_size_are_filled_in_the_order_of_their_ids():
    plan = plan_of({"p": 700}, {}, [base("b", 4_000), base("a", 4_000)])
    assert shape(plan) == [("a", 0, 600), ("b", 0, 100)]


def with_source(file: BaseFile, size_bytes: int) -> BaseFile:
    return replace(file, source=RowSource(uri="file:/s/f.parquet", size_bytes=size_bytes))


def test_a_skeleton_is_as_large_as_its_source():
    files = [with_source(base("large", 100), 7_900), with_source(base("small", 100), 4_000)]
    plan = plan_of({"p": 700}, {}, files)
    assert shape(plan) == [("small", 0, 590), ("new0-0", 0, 110)]


def test_a_file_of_just_the_limit_is_not_small():
    files = [base("at", SIZING.small_file_limit), base("below", SIZING.small_file_limit - 1)]
    plan = plan_of({"p": 300}, {}, files)
    assert [bucket.file_id for bucket in plan.buckets if bucket.base] == ["below"]


@pytest.mark.parametrize(("limit", "size"), [(0, 10), (20_000, 9_995)], ids=["limit 0", "no room"])
def test_a_file_that_is_not_small_or_has_no_room_gets_nothing(limit: int, size: int) -> None:
    sizing = FileSizing(max_file_size=10_000, small_file_limit=limit)
    assert shape(plan_of({"p": 5}, {}, [base("a", size)], sizing)) == [("new0-0", 0, 5)]


def test_new_file_groups_get_equal_shares_of_what_fits():
    equal = [(f"new{number}-0", 0, 667) for number in range(3)]
    assert shape(plan_of({"p": 2001}, {}, [])) == equal
    fixed = FileSizing(insert_auto_split=False, insert_split_size=1500)
    assert shape(plan_of({"p": 2001}, {}, [], fixed)) == [("new0-0", 0, 1000), ("new1-0", 0, 1001)]


def test_the_inflight_file_lists_inserts_by_partition_and_updates_by_file_group():
    profile = WorkloadProfile(inserts={"q": 4, "p": 0}, updates={("p", "b"): 2, ("p", "a"): 1})
    found = list(planned_stats(profile, {("p", "a"): "1", ("p", "b"): "2"}))
    told = [
        (part, stat.file_id, stat.prev_commit, stat.num_inserts, stat.num_update_writes)
        for part, stat in found
    ]
    own = [("p", "", "null", 0, 0), ("p", "a", "1", 0, 1), ("p", "b", "2", 0, 2)]
    assert told == [*own, ("q", "", "null", 4, 0)]
    assert found[0][1].to_json()["runtimeStats"] is None


PARTITIONS = st.sampled_from(["", "p", "q=1/r"])
FILES = st.lists(
    st.tuples(PARTITIONS, st.integers(0, 30), st.integers(0, 12_000)),
    max_size=12,
    unique_by=(lambda file: file[:2]),
)


@given(FILES, st.dictionaries(PARTITIONS, st.integers(0, 20_000)), st.data())
def test_every_row_has_a_place_that_has_room(files, inserts, data):
    bases = [base(f"f{number}", size, partition) for partition, number, size in files]
    updated = data.draw(st.sets(st.sampled_from(bases)) if bases else st.just(set()))
    updates = {(file.partition, file.file_id): 1 + number for number, file in enumerate(updated)}
    plan = plan_of(inserts, updates, bases)
    assert [bucket.number for bucket in plan.buckets] == list(range(len(plan.buckets)))
    sizes = {(file.partition, file.file_id): file.size_bytes for file in bases}
    placed: Counter[str] = Counter()
    for bucket in plan.buckets:
        where = bucket.partition, bucket.file_id
        assert plan.by_file[where] == bucket.number
        assert (bucket.base is not None) == (where in sizes)
        assert bucket.updates == updates.get(where, 0)
        assert bucket.updates or bucket.inserts
        placed[bucket.partition] += bucket.inserts
        size = sizes.get(where, 0)
        if bucket.inserts:
            assert where not in sizes or size < SIZING.small_file_limit
            assert size + bucket.inserts * RECORD_BYTES <= SIZING.max_file_size
    assert placed == Counter(inserts)
    for partition, rows in inserts.items():
        assert (partition in plan.shares) == (rows > 0)
        fill = [b for b in plan.buckets if b.partition == partition and b.inserts and b.base]
        opened = any(b.base is None for b in plan.buckets if b.partition == partition)
        own = [file.size_bytes for file in bases if file.partition == partition]
        small = [size for size in own if size < SIZING.small_file_limit]
        if opened:
            # New file groups come after every small file is full.
            assert sorted(b.base.size_bytes for b in fill if b.base) == sorted(small)


@given(FILES, st.dictionaries(PARTITIONS, st.integers(0, 20_000)))
def test_the_same_input_gives_the_same_plan(files, inserts):
    bases = [base(f"f{number}", size, partition) for partition, number, size in files]
    first, second = plan_of(inserts, {}, bases), plan_of(inserts, {}, bases[::-1])
    assert (first.buckets, first.by_file) == (second.buckets, second.by_file)
    for partition, shares in first.shares.items():
        assert np.array_equal(shares.buckets, second.shares[partition].buckets)
        assert np.array_equal(shares.upper, second.shares[partition].upper)


@pytest.mark.parametrize("rows", [[10], [100, 100], [1, 999], [500, 250, 125, 125]])
def test_rows_spread_over_buckets_as_was_planned(rows: list[int]):
    files = [base(f"f{n}", SIZING.max_file_size - RECORD_BYTES * r) for n, r in enumerate(rows)]
    sizing = FileSizing(max_file_size=SIZING.max_file_size, small_file_limit=SIZING.max_file_size)
    plan = plan_of({"p": sum(rows)}, {}, files, sizing)
    assert sorted(bucket.inserts for bucket in plan.buckets) == sorted(rows)
    keys = pa.array([f"key-{number}" for number in range(20_000)])
    chosen = plan.shares["p"].bucket_of(key_hash(keys))
    for bucket in plan.buckets:
        share = bucket.inserts / sum(rows)
        assert abs((chosen == bucket.number).mean() - share) < 0.015


def test_every_key_hash_has_a_bucket():
    shares = plan_of({"p": 2000}, {}, []).shares["p"]
    edges = np.array([0, 1, *shares.upper.tolist(), 2**64 - 1], dtype=np.uint64)
    assert set(shares.bucket_of(edges).tolist()) == {0, 1}


def test_thirty_small_batches_make_no_heap_of_small_files():
    """Each grows the file that the last one left small, and opens a file when that is full."""
    files: dict[str, int] = {}
    numbers = count()
    for _ in range(30):
        stored = [base(file_id, size) for file_id, size in files.items()]
        plan = plan_of({"p": 150}, {}, stored, new_numbers=numbers)
        for bucket in plan.buckets:
            files.setdefault(bucket.file_id, 0)
            files[bucket.file_id] += bucket.inserts * RECORD_BYTES
        assert sum(size < SIZING.small_file_limit for size in files.values()) <= 1
    assert sum(files.values()) == 30 * 150 * RECORD_BYTES
    assert list(files.values()) == [9_000] * 5


def test_rows_that_may_come_get_a_file_group_and_touch_no_small_file() -> None:
    plan = plan_of({"p": 0}, {}, [base("small", 10)], possible=frozenset({"p"}))
    assert [(bucket.file_id, bucket.base) for bucket in plan.buckets] == [("new0-0", None)]


def test_updates_are_appended_unless_the_file_is_small_and_gets_inserts() -> None:
    sizes = {"small": 10, "large": 1 << 30}
    files = [base(*each, path) for path in ("still", "growing") for each in sizes.items()]
    logs = {
        (file.partition, file.file_id): AppendTarget(
            partition=file.partition, file_id=file.file_id, base_instant="1", base_file=file.name
        )
        for file in files
    }
    sizing = FileSizing(small_file_candidates=1)
    plan = plan_of({"growing": 5}, dict.fromkeys(logs, 3), files, sizing, logs=logs)
    kinds = {(b.partition, b.file_id): b.log is not None for b in plan.buckets}
    assert kinds == {place: place != ("growing", "small") for place in logs}
    (rewritten,) = [bucket for bucket in plan.buckets if bucket.base is not None]
    assert (rewritten.updates, rewritten.inserts) == (3, 5)
