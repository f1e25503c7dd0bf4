"""What the engine rests on, held by every kind of storage."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import AlreadyExistsError, CorruptTableError, MissingFileError
from pyhudi.storage.storage import Storage
from tests.support.backends import BACKENDS, storage_on
from tests.support.memory import MemoryStorage
from tests.support.threads import only_winner

ODD_NAMES = ("a b", "p=1%2F2", "ü+é", "a&b", "~x#y", "q?z", "(1),[2]", "x'y", "%41", "+")


@pytest.fixture(params=BACKENDS)
def storage(request: pytest.FixtureRequest) -> Storage:
    return storage_on(request.param, request)


def paths(storage: Storage, folder: str = "", without: str | None = None) -> list[str]:
    return [status.path for status in storage.walk(folder, without)]


def test_what_is_created_is_there_whole_and_is_not_created_again(storage: Storage) -> None:
    storage.create(".hoodie/1.commit", b"one")
    with pytest.raises(AlreadyExistsError, match=r"1\.commit"):
        storage.create(".hoodie/1.commit", b"two")
    assert storage.read(".hoodie/1.commit") == b"one"
    assert paths(storage) == [".hoodie/1.commit"]


@pytest.mark.parametrize("data", [b"", b"x" * 100_000], ids=["empty", "long"])
def test_of_sixteen_creators_of_a_file_exactly_one_succeeds(storage: Storage, data: bytes) -> None:
    if isinstance(storage, MemoryStorage):
        pytest.skip("it is for one thread")
    storage.create("before", b"")
    for number in range(3):
        path = f".hoodie/{number}.commit"
        winner = only_winner(16, lambda n, path=path: storage.create(path, data + b"%d" % n))
        assert storage.read(path) == data + b"%d" % winner
    assert len(paths(storage, ".hoodie")) == 3


def test_a_file_that_was_deleted_can_be_created_again(storage: Storage) -> None:
    for number in range(2):
        storage.create("a/one", b"%d" % number)
        assert storage.read("a/one") == b"%d" % number
        storage.delete("a/one")
        assert storage.status("a/one") is None


def test_what_is_put_is_made_or_replaced_and_stands_in_the_way_of_a_create(
    storage: Storage,
) -> None:
    storage.put("hoodie.properties", b"old")
    storage.put("hoodie.properties", b"new, and longer")
    assert storage.read("hoodie.properties") == b"new, and longer"
    with pytest.raises(AlreadyExistsError):
        storage.create("hoodie.properties", b"")


def test_readers_see_the_old_bytes_or_the_new_ones_while_a_file_is_replaced(
    storage: Storage,
) -> None:
    wholes = [bytes([65 + number]) * 50_000 for number in range(4)]
    storage.put("p", wholes[0])
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(lambda: [storage.put("p", whole) for whole in wholes * 3])
        while not done.done():
            assert storage.read("p") in wholes
        done.result()


def test_a_listing_has_what_lies_in_a_folder_and_a_walk_what_lies_below(storage: Storage) -> None:
    for path in ("a/1", "a/2", "a/b/3", "a/b/c/4", "ab/5", "top"):
        storage.create(path, path.encode())
    listed = storage.list("a")
    assert [(status.path, status.is_dir) for status in listed] == [
        ("a/1", False),
        ("a/2", False),
        ("a/b", True),
    ]
    assert [status.name for status in storage.list("")] == ["a", "ab", "top"]
    assert paths(storage, "a") == ["a/1", "a/2", "a/b/3", "a/b/c/4"]
    assert paths(storage, "", "a/b") == ["a/1", "a/2", "ab/5", "top"]
    assert paths(storage, "", "a") == ["ab/5", "top"]
    assert [status.size_bytes for status in storage.walk("a")] == [3, 3, 5, 7]


def test_several_folders_are_listed_as_each_of_them_is(storage: Storage) -> None:
    folders = ["p=1", "p=2/q=1", "p=2/q=2", "p=10", "gone", "p=3/r"]
    for folder in folders:
        if folder != "gone":
            for name in ("1.parquet", "2.parquet"):
                storage.put(f"{folder}/{name}", b"x")
    found = storage.list_folders(folders)
    assert {folder: [status.path for status in found[folder]] for folder in folders} == {
        folder: [status.path for status in storage.list(folder)] for folder in folders
    }


def test_more_files_than_a_page_of_a_listing_has_are_all_found(storage: Storage) -> None:
    names = [f"{number:04}" for number in range(1_005)]
    with ThreadPoolExecutor(1 if isinstance(storage, MemoryStorage) else 8) as pool:
        list(pool.map(lambda name: storage.put(f"many/{name}", b""), names))
    assert [status.name for status in storage.list("many")] == names
    assert paths(storage) == [f"many/{name}" for name in names]
    storage.delete_all(f"many/{name}" for name in names[:-1])
    assert paths(storage) == ["many/1004"]


def test_what_is_absent_is_said_to_be(storage: Storage) -> None:
    storage.create("there", b"")
    assert storage.list("gone") == []
    assert storage.walk("gone") == ()
    assert storage.status("gone") is None
    assert not storage.exists("gone")
    with pytest.raises(MissingFileError, match="gone"):
        storage.read("gone")
    with pytest.raises(MissingFileError, match="gone"), storage.open_input("gone"):
        pass
    storage.delete("gone")
    storage.delete_all(["gone", "gone too"])
    storage.delete_dir("gone")
    assert paths(storage) == ["there"]


def test_a_status_tells_length_time_and_kind(storage: Storage) -> None:
    storage.create("a/one", b"12345")
    found = storage.status("a/one")
    assert found is not None
    assert (found.path, found.size_bytes, found.is_dir) == ("a/one", 5, False)
    folder = storage.status("a")
    assert folder is not None
    assert folder.is_dir
    if not isinstance(storage, MemoryStorage):
        assert abs(found.modified_ms - _now_ms()) < 3_600_000


def test_a_folder_is_deleted_with_what_it_holds_and_nothing_beside(storage: Storage) -> None:
    for path in ("a/1", "a/b/2", "ab/3"):
        storage.create(path, b"")
    storage.delete_dir("a")
    assert paths(storage) == ["ab/3"]
    assert not storage.exists("a/b")


def test_a_stream_makes_a_file_and_replaces_one(storage: Storage) -> None:
    for data in (b"12345", b"", b"abc"):
        with storage.open_output("d/e/f") as out:
            out.write(data[:2])
            out.write(data[2:])
        assert storage.read("d/e/f") == data
        with storage.open_input("d/e/f") as source:
            assert (source.size(), source.read()) == (len(data), data)


def test_a_file_of_many_parts_comes_back_as_it_was_and_in_pieces(storage: Storage) -> None:
    data = b"".join(number.to_bytes(4, "big") for number in range(5_500_000))
    with storage.open_output("big") as out:
        for start in range(0, len(data), 1 << 20):
            out.write(data[start : start + (1 << 20)])
    assert storage.read("big") == data
    with storage.open_input("big") as source:
        for at, length in ((21_999_990, 100), (0, 10), (11_000_000, 300_000), (4, 4)):
            source.seek(at)
            assert source.read(length) == data[at : at + length]


def test_a_parquet_file_is_written_and_read_column_by_column(storage: Storage) -> None:
    rows = pa.table({"k": range(50_000), "v": [str(number) for number in range(50_000)]})
    with storage.open_output("p/f.parquet") as out:
        pq.write_table(rows, out, row_group_size=10_000)
    with storage.open_input("p/f.parquet") as source:
        file = pq.ParquetFile(source, pre_buffer=False)
        assert file.read_row_group(3, ["v"], use_threads=False) == rows.slice(
            30_000, 10_000
        ).select(["v"])
        assert file.read(use_threads=False) == rows


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_kept(storage: Storage, name: str) -> None:
    storage.create(f"{name}/{name}.parquet", name.encode())
    assert storage.read(f"{name}/{name}.parquet") == name.encode()
    assert paths(storage) == [f"{name}/{name}.parquet"]
    assert [status.path for status in storage.list(name)] == [f"{name}/{name}.parquet"]
    with storage.open_output(f"{name}/2") as out:
        out.write(b"2")
    storage.delete(f"{name}/{name}.parquet")
    assert paths(storage, name) == [f"{name}/2"]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x"])
def test_no_path_leads_out_of_the_folder(storage: Storage, path: str) -> None:
    if isinstance(storage, MemoryStorage):
        pytest.skip("there is nothing outside")
    for call in (storage.read, storage.delete, storage.walk, lambda p: storage.create(p, b"")):
        with pytest.raises(CorruptTableError):
            call(path)


def test_a_storage_travels_to_workers(storage: Storage) -> None:
    storage.create("a", b"1")
    other = pickle.loads(pickle.dumps(storage))
    assert other.read("a") == b"1"
    assert (other.uri, other.absolute("a")) == (storage.uri, storage.absolute("a"))


def _now_ms() -> int:
    import time

    return time.time_ns() // 1_000_000
