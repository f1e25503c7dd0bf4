"""A commit is found again by the key it carries."""

from dataclasses import replace

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.table.committed import STAMP, EarlierCommit, find_committed
from tests.support.in_process import CONFIG
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of, table_of

STAT = WriteStat(file_id="f-0", path="p/f-0_0-1-0_1.parquet", num_inserts=3)


def storage_with(*commits: tuple[str, str, dict[str, str]]) -> MemoryStorage:
    """A timeline of (file suffix, time, extra metadata)."""
    storage = MemoryStorage()
    for suffix, time, extra in commits:
        metadata = CommitMetadata(
            partition_to_write_stats={"p": (STAT,)}, extra_metadata=extra, operation_type="INSERT"
        )
        storage.put(f".hoodie/{time}.{suffix}", metadata.to_bytes())
    return storage


def find(storage: MemoryStorage, key: str) -> EarlierCommit | None:
    table = replace(table_of(storage, CONFIG), timeline=active_of(storage).load())
    return find_committed(table, key)


def test_the_commit_that_carries_the_key_is_found_with_what_it_wrote():
    storage = storage_with(
        ("commit", "20260101000000000", {STAMP: "a"}), ("commit", "20260102000000000", {STAMP: "b"})
    )
    found = find(storage, "a")
    assert found is not None
    assert (found.instant, found.stats) == ("20260101000000000", (STAT,))
    assert find(storage, "c") is None


def test_of_several_the_newest_is_found():
    times = ("20260101000000000", "20260102000000000")
    storage = storage_with(*(("commit", time, {STAMP: "a"}) for time in times))
    found = find(storage, "a")
    assert found is not None
    assert found.instant == times[1]


def test_a_write_that_did_not_complete_has_not_landed():
    assert find(storage_with(("inflight", "20260101000000000", {STAMP: "a"})), "a") is None


def test_the_key_counts_only_where_it_is_the_key():
    storage = storage_with(
        ("commit", "20260101000000000", {"note": "a-key", STAMP: "another a-key"}),
        ("commit", "20260102000000000", {}),
    )
    storage.put(".hoodie/20260103000000000.commit", b"")
    assert find(storage, "a-key") is None


def test_a_key_of_any_characters_is_found():
    key = 'dag "übung"/run\\1'
    assert find(storage_with(("commit", "20260101000000000", {STAMP: key})), key) is not None
