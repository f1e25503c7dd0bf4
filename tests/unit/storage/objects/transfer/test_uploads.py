"""Uploads in parts that a dead task has left are ended by whoever undoes its write."""

import pytest

from pyhudi.errors import StorageError
from pyhudi.storage.objects.patience import Patience
from pyhudi.storage.objects.transfer.uploads import give_up_uploads
from pyhudi.storage.schemes import open_storage
from pyhudi.transaction.markers import MarkerType, delete_strays, leave_marker, read_markers
from tests.support.in_process import NOW_MS, clock_at, dead_write, leftovers, new_table, write
from tests.support.object_store import Answer, StoreServer, always


def test_only_the_uploads_of_the_files_that_are_named_are_given_up(store: StoreServer) -> None:
    storage = store.new_storage()
    for path in ("x/mine 1.parquet", "x/theirs.parquet"):
        store.begin_upload(storage, path)
    assert len(store.uploads(storage)) == 2
    with store.counting() as seen:
        give_up_uploads(storage, ["x/mine 1.parquet", "x/never.parquet"])
    assert store.uploads(storage) == [storage.place.key("x/theirs.parquet")]
    assert seen.total() == 2


def test_the_uploads_of_attempts_that_do_not_count_end_before_the_commit(
    store: StoreServer,
) -> None:
    storage = store.new_storage()
    leave_marker(storage, "20260101000000000", "x/a.parquet", MarkerType.CREATE)
    store.begin_upload(storage, "x/a.parquet")
    delete_strays(storage, "20260101000000000", read_markers(storage, "20260101000000000"), ())
    assert store.uploads(storage) == []


def test_a_rollback_ends_the_uploads_of_the_write_that_died(store: StoreServer) -> None:
    memory = new_table()
    rows = {("x", "a"): (1, "old")}
    write(memory, rows, clock_at())
    instant = dead_write(memory, {("x", "a"): (2, "new")}, clock_at(NOW_MS + 1_000))
    storage = store.filled(memory)
    marker = f"x/half-0_9-9-9_{instant}.parquet"
    leave_marker(storage, instant, marker, MarkerType.CREATE)
    store.begin_upload(storage, marker)
    write(storage, {("x", "b"): (3, "next")}, clock_at(NOW_MS + 2_000))
    assert store.uploads(storage) == []
    assert leftovers(store.contents(storage, NOW_MS)) == []


def test_what_cannot_be_listed_stays_and_fails_nothing(
    store: StoreServer, caplog: pytest.LogCaptureFixture
) -> None:
    storage = store.new_storage()
    store.begin_upload(storage, "x/a.parquet")
    with store.answering(always(Answer.UNHEARD, lambda seen: seen.query.startswith("uploads"))):
        give_up_uploads(storage, ["x/a.parquet"])
    assert "unfinished uploads below s3://" in caplog.text
    assert len(store.uploads(storage)) == 1


def test_elsewhere_nothing_is_asked(tmp_path, store: StoreServer) -> None:
    storage = store.new_storage()
    with store.counting() as seen:
        give_up_uploads(open_storage(str(tmp_path)), ["a"])
        give_up_uploads(storage, [])
    assert seen.total() == 0


def test_a_stream_that_fails_is_told_and_can_be_given_up(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyhudi.storage.objects.patience.PATIENCE", Patience(total_s=0.01))
    storage = store.new_storage()
    with store.answering(always(Answer.BUSY, lambda seen: seen.method == "PUT")):
        stream = storage.open_output("x/a.parquet")
        stream.write(b"1")
        with pytest.raises(StorageError, match="cannot write s3://"):
            stream.close()
    assert storage.list("x") == []
