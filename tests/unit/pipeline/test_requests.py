"""How many requests an upsert of one row in a hundred makes, on a table of 240 files."""

from collections import Counter

import pytest

from pyhudi.errors import SetupError
from pyhudi.storage.objects import creating, swapping
from pyhudi.storage.objects import storage as objects
from pyhudi.storage.objects.storage import ObjectStorage
from pyhudi.storage.objects.transfer.sinks import PART_BYTES, Room
from tests.support.in_process import NOW_MS, Options, Rows, clock_at, options_of, read_rows, write
from tests.support.memory import MemoryStorage
from tests.support.object_store import StoreServer

PARTITIONS, FILES_OF_EACH, ROWS_OF_EACH = 12, 20, 10
OPTIONS = options_of(
    hoodie__copyonwrite__insert__auto__split="false",
    hoodie__copyonwrite__insert__split__size=str(ROWS_OF_EACH),
    hoodie__parquet__small__file__limit="0",
    hoodie__clean__automatic="true",
)
NO_CLEAN = {**OPTIONS, "hoodie.clean.automatic": "false"}
AT_ONCE = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"
    ),
    "hoodie.metadata.enable": "false",
}
FS_LOCK = {
    **AT_ONCE,
    "hoodie.write.lock.provider": (
        "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
    ),
    "hoodie.fs.atomic_creation.support": "s3",
}
PROBE_OF_THE_LOCK = 5
COMMITS = 29
"""As many as a timeline has before a write that does not archive yet, by Hudi's defaults."""
MOST_BESIDE, MOST_OF_A_FILE_READ, MOST_OF_A_FILE_WRITTEN = 60, 6, 4


def rows_with(ts: int, value: str) -> Rows:
    return {
        (f"origin={number:02d}", f"{number:02d}-{key:04d}"): (ts, value)
        for number in range(PARTITIONS)
        for key in range(FILES_OF_EACH * ROWS_OF_EACH)
    }


@pytest.fixture(scope="module")
def written() -> MemoryStorage:
    """A table of 240 files, with many commits."""
    return filled_by(OPTIONS, COMMITS - 1)


def filled_by(options: Options, commits: int, files: int = PARTITIONS * FILES_OF_EACH):
    """A table of so many files, and some commits that change one row each."""
    memory = MemoryStorage(now_ms=NOW_MS)
    rows = dict(list(rows_with(1, "old").items())[: files * ROWS_OF_EACH])
    assert write(memory, rows, clock_at(), "insert", options).files["created"] == files
    for number in range(commits):
        one = dict(list(rows_with(2 + number, "newer").items())[:1])
        write(memory, one, clock_at(NOW_MS + 1_000 * (number + 1)), options=options)
    return memory


@pytest.fixture
def table(store: StoreServer, written: MemoryStorage, monkeypatch: pytest.MonkeyPatch):
    """On a store that this process has not met, so that the probe counts too."""
    monkeypatch.setattr(creating, "_honoured", set())
    return store.filled(written)


def share_of(store: StoreServer) -> Counter[str]:
    """The requests that were seen, by what they are about."""
    found: Counter[str] = Counter()
    heartbeats = 0
    for seen in store.seen:
        if "/.hoodie/.heartbeat/" in seen.path and seen.kind == "put":
            heartbeats += 1
            if heartbeats > 1:  # renewed, on a machine that takes a minute for a test
                continue
        name = seen.path.rpartition("/")[2]
        is_log = name.startswith(".") and ".log." in name
        is_data = (name.endswith(".parquet") or is_log) and seen.kind != "list"
        beside = "lock" if "/.hoodie/.locks/" in seen.path else "beside"
        kind = seen.kind if is_data else beside
        found["marker" if ".marker." in name else kind] += 1
    return found


def test_an_upsert_of_a_hundredth_makes_few_requests(
    table: ObjectStorage, store: StoreServer
) -> None:
    changed = dict(list(rows_with(50, "new").items())[::100])
    clock = clock_at(NOW_MS + 60_000)
    store.seen.clear()
    found = write(table, changed, clock, options=OPTIONS)
    files, rewritten = PARTITIONS * FILES_OF_EACH, found.files["rewritten"]
    assert 20 <= rewritten <= 24
    # Each file is looked at for its keys, and those that change are read whole beside.
    share = share_of(store)
    assert share["beside"] <= MOST_BESIDE
    assert share["get"] <= MOST_OF_A_FILE_READ * files
    assert share["put"] + share["marker"] <= MOST_OF_A_FILE_WRITTEN * rewritten
    # What it takes for small files, which is far less.
    assert (share["get"], share["put"], share["marker"]) == (
        files + rewritten,
        rewritten,
        rewritten,
    )
    assert sum(found.requests[kind] for kind in ("get", "put", "list", "head", "delete")) == len(
        store.seen
    )
    # The folder is looked at, listed for what does not count, and its files are deleted together.
    assert found.requests["markers"] == rewritten + 3
    # The folder is looked at, and the file made, renewed and deleted.
    assert 3 <= found.requests["heartbeat"] <= 6
    assert {
        key: row[1] for key, row in read_rows(table).items() if key in changed
    } == dict.fromkeys(changed, "new")


def test_an_upsert_that_appends_makes_few_requests(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creating, "_honoured", set())
    options = {**OPTIONS, "hoodie.datasource.write.table.type": "MERGE_ON_READ"}
    table = store.filled(filled_by(options, COMMITS - 1))
    changed = dict(list(rows_with(50, "new").items())[::100])
    store.seen.clear()
    found = write(table, changed, clock_at(NOW_MS + 60_000), options=options)
    share, appended = share_of(store), found.files["appended"]
    assert 20 <= appended <= 24
    assert share["beside"] <= MOST_BESIDE - 7  # a clean has nothing to do
    assert found.requests["markers"] == appended + 3
    assert 3 <= found.requests["heartbeat"] <= 6
    # A file group is looked at for its keys, and its log file is written. No base file is.
    files = PARTITIONS * FILES_OF_EACH
    assert (share["get"], share["put"], share["marker"]) == (files, appended, appended)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_new_partition_costs_two_requests_beside_its_file(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch, table_type: str
) -> None:
    monkeypatch.setattr(creating, "_honoured", set())
    options = {**NO_CLEAN, "hoodie.datasource.write.table.type": table_type}
    table = store.filled(filled_by(options, 1, files=2))
    new, old = 7, 2
    rows: Rows = {(f"new={number}", f"n{number}"): (50, "new") for number in range(new)}
    rows |= {("origin=00", f"other{number}"): (50, "new") for number in range(old)}
    store.seen.clear()
    found = write(table, rows, clock_at(NOW_MS + 60_000), "insert", options)
    assert found.files["created"] == new + 1
    share = share_of(store)
    assert (share["put"], share["marker"], share["get"]) == (new + 1, new + 1, 0)
    metadata = ".hoodie_partition_metadata"
    # A file group that is new looks whether its partition is one.
    asked = Counter(each.kind for each in store.seen if each.path.endswith(metadata))
    assert asked == {"get": new + 1, "put": new}
    assert not [each for each in store.seen if metadata in each.query]
    assert share["beside"] - 2 * new - 1 <= MOST_BESIDE - COMMITS


def test_a_large_file_costs_one_put_or_its_parts_and_two_requests_more(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creating, "_honoured", set())
    options = {
        **NO_CLEAN,
        "hoodie.copyonwrite.insert.split.size": "1000",
        "hoodie.parquet.compression.codec": "uncompressed",
    }
    parts, text_bytes = 2, 1 << 18
    count = parts * PART_BYTES // text_bytes - 10
    rows: Rows = {
        ("x", f"{number:04d}"): (1, f"{number:04d}" * (text_bytes // 4)) for number in range(count)
    }
    table = store.new_storage()
    made = write(table, rows, clock_at(), "insert", options)
    assert made.files["created"] == 1
    (size,) = (each.size_bytes for each in table.list("x") if each.path.endswith(".parquet"))
    assert (parts - 1) * PART_BYTES < size < parts * PART_BYTES
    assert (share_of(store)["put"], share_of(store)["marker"], made.requests["multipart"]) == (
        1,
        1,
        0,
    )
    monkeypatch.setattr(objects, "ROOM", Room(0))
    monkeypatch.setattr(creating, "_honoured", set())
    store.seen.clear()
    one: Rows = {("x", "0000"): (2, "new")}
    found = write(table, one, clock_at(NOW_MS + 60_000), options=options)
    assert found.files["rewritten"] == 1
    share = share_of(store)
    # Its end, its keys and its rows are read.
    assert (share["get"], share["multipart"], share["put"], share["marker"]) == (4, parts + 2, 0, 1)
    assert found.requests["multipart"] == parts + 2


def test_writers_at_once_pay_for_their_lock_and_two_looks_under_it(
    table: ObjectStorage, store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(swapping, "_honoured", set())
    changed = dict(list(rows_with(50, "new").items())[::100])
    store.seen.clear()
    write(table, changed, clock_at(NOW_MS + 60_000), options={**OPTIONS, **AT_ONCE})
    share = share_of(store)
    # It is taken when the instant begins and when it is committed, and by a clean; and probed.
    assert 0 < share["lock"] <= 16
    assert share["beside"] <= MOST_BESIDE + PROBE_OF_THE_LOCK


def test_the_lock_of_a_file_system_costs_no_look_for_checksums(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creating, "_honoured", set())
    table = store.filled(filled_by(NO_CLEAN, 4, files=2))
    one = dict(list(rows_with(50, "new").items())[:1])
    store.seen.clear()
    write(table, one, clock_at(NOW_MS + 60_000), options={**NO_CLEAN, **FS_LOCK})
    asked = Counter(seen.kind for seen in store.seen if seen.path.endswith("/.hoodie/lock"))
    # Taken, looked at before the commit, and given back, twice.
    assert asked == {"head": 5, "get": 3, "put": 2}
    assert not [seen for seen in store.seen if seen.path.endswith(".crc")]


def test_a_table_that_was_archived_costs_one_look_more(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creating, "_honoured", set())
    options = {**OPTIONS, "hoodie.archive.automatic": "true"}
    memory = filled_by(options, 36, files=2)
    commits = sum(path.endswith(".commit") for path in memory.files)
    assert commits < 30
    table = store.filled(memory)
    store.seen.clear()
    one = dict(list(rows_with(50, "new").items())[:1])
    write(table, one, clock_at(NOW_MS + 60_000), options=options)
    assert share_of(store)["head"] == 0
    # As above, by the number of its commits; the look is for its first one.
    assert share_of(store)["beside"] - commits <= MOST_BESIDE - COMMITS
    assert store.counts()["head"] == 1


def test_a_commit_on_the_timeline_costs_one_request(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = []
    for commits in (4, 10):
        monkeypatch.setattr(creating, "_honoured", set())
        table = store.filled(filled_by(NO_CLEAN, commits, files=2))
        store.seen.clear()
        one = dict(list(rows_with(50, "new").items())[:1])
        write(table, one, clock_at(NOW_MS + 60_000), options=NO_CLEAN)
        beside.append(share_of(store)["beside"])
    assert beside[1] - beside[0] == 6


def test_a_write_that_could_create_nothing_ends_before_its_rows_are_read(
    store: StoreServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = store.new_storage()
    monkeypatch.setattr("pyhudi.storage.objects.storage.has_obstore", lambda: False)
    one = dict(list(rows_with(1, "a").items())[:1])
    with (
        caplog.at_level("INFO"),
        pytest.raises(SetupError, match=r"cannot write s3://.*obstore.*pyhudi\[s3\]"),
    ):
        write(table, one, clock_at(), options=OPTIONS)
    assert "key took" not in caplog.text
    assert store.seen == []


def test_a_write_to_a_local_table_counts_none() -> None:
    memory = MemoryStorage(now_ms=NOW_MS)
    assert write(memory, dict(list(rows_with(1, "a").items())[:1]), clock_at()).requests == {}
