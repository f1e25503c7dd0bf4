"""What the engine rests on, on an object store: each promise of a Storage, and few requests."""

import pickle

import pytest

from pyhudi.errors import (
    AlreadyExistsError,
    CorruptTableError,
    MissingFileError,
    SetupError,
    StorageError,
)
from pyhudi.storage.objects import patience
from pyhudi.storage.objects import storage as objects
from pyhudi.storage.objects.patience import Patience
from pyhudi.storage.objects.transfer.sinks import PART_BYTES, Room
from pyhudi.storage.schemes import open_storage
from tests.support.object_store import Answer, always
from tests.support.threads import only_winner

ODD_NAMES = [
    "with space",
    "a%20b",
    "k=v",
    "ü/ß",
    "plus+",
    "a&b",
    "#1",
    "q?x",
    "semi;colon",
    "~t",
    "a*b",
    "[1]",
    "{2}",
    "a|b",
    "tick`",
    "caret^",
    'quo"te',
    "<1>",
    "back\\slash",
]


@pytest.fixture(params=["obstore", "arrow"])
def storage(request, store, monkeypatch):
    """A storage whose requests go through obstore, and one as tasks have it without obstore."""
    found = store.new_storage()
    if request.param == "arrow":
        monkeypatch.setattr("pyhudi.storage.objects.storage.has_obstore", lambda: False)
    return found


@pytest.fixture
def writable(store):
    return store.new_storage()


def test_of_many_creators_of_one_file_exactly_one_succeeds(writable):
    winner = only_winner(8, lambda n: writable.create(".hoodie/1.commit", str(n).encode()))
    assert writable.read(".hoodie/1.commit") == str(winner).encode()


def test_a_file_that_is_there_is_not_created_again(writable):
    writable.create("a/one", b"")
    with pytest.raises(AlreadyExistsError, match=r"s3://bucket.*/a/one: it is already there"):
        writable.create("a/one", b"")
    writable.put("a/one", b"3")
    assert [(found.path, found.size_bytes) for found in writable.list("a")] == [("a/one", 1)]
    assert writable.read("a/one") == b"3"


def test_nothing_is_left_of_the_probe(writable):
    writable.create("a", b"")
    assert [found.path for found in writable.walk("")] == ["a"]


def test_without_obstore_writing_is_refused_and_names_the_extra(store, monkeypatch):
    storage = store.new_storage()
    monkeypatch.setattr("pyhudi.storage.objects.storage.has_obstore", lambda: False)
    with pytest.raises(SetupError, match=r"obstore.*airflow-provider-pyhudi\[s3\]"):
        storage.create("a", b"")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_name_is_a_name_whatever_characters_it_has(storage, name):
    path = f"{name}/{name}.parquet"
    storage.put(path, b"1")
    assert storage.read(path) == b"1"
    assert [found.path for found in storage.walk("")] == [path]
    folder = path.rpartition("/")[0]
    assert [found.path for found in storage.list(folder) if not found.is_dir] == [path]
    with storage.open_input(path) as source:
        assert source.read() == b"1"
    storage.delete_dir(folder)
    assert storage.walk("") == ()


def test_a_root_with_odd_characters_is_named_as_in_any_uri(store):
    bucket = store.new_bucket()
    storage = open_storage(f"s3a://{bucket}/with%20space/k=v", store.options)
    storage.put("a", b"1")
    assert open_storage(f"s3://{bucket}/with space/k=v/", store.options).read("a") == b"1"
    assert storage.absolute("a") == f"s3a://{bucket}/with%20space/k=v/a"


def test_more_files_than_a_page_are_all_listed(storage, store):
    names = [f"p/{number:04d}" for number in range(1_003)]
    store.fill(storage, dict.fromkeys(names, b""))
    assert [found.path for found in storage.list("p")] == names
    assert [found.path for found in storage.walk("")] == names


def test_more_files_than_a_page_are_all_deleted(writable, store):
    store.fill(writable, {f"p/{number:04d}": b"" for number in range(1_003)})
    with store.counting() as seen:
        writable.delete_dir("p")
    assert seen == {"list": 2, "delete": 2}
    assert writable.walk("") == ()


def test_what_lies_in_a_folder_that_is_left_out_is_not_paged_through(writable, store):
    paths = ["!first/a", ".hoodie_partition_metadata", "z/b"]
    others = [f".hoodie/{number:04d}" for number in range(2_050)]
    store.fill(writable, dict.fromkeys([*paths, *others], b""))
    with store.counting() as seen:
        assert [found.path for found in writable.walk("", without=".hoodie")] == sorted(paths)
    assert seen == {"list": 2}


@pytest.mark.parametrize("odd", ["v1.5", "v1 b", "v1/in", "v0", "w"])
def test_many_folders_are_listed_with_few_requests(storage, store, odd):
    """The names of others sort between those of the folders that are asked for."""
    wanted = [f"v{number}" for number in (1, 3, 2)]
    files = [f"{folder}/{name}" for folder in wanted for name in ("a", ".b")]
    others = [f"{odd}/{number:04d}" for number in range(1_100)]
    store.fill(storage, dict.fromkeys([*files, *others], b""))
    with store.counting() as seen:
        found = storage.list_folders([*wanted, "gone"])
    paths = {folder: sorted(path for path in files if path.startswith(folder)) for folder in wanted}
    files_of = {
        folder: [each.path for each in entries if not each.is_dir]
        for folder, entries in found.items()
    }
    assert files_of == {**paths, "gone": []}
    assert seen["list"] <= 4


def test_small_folders_are_listed_with_one_request(writable, store):
    folders = [f"origin={number}" for number in range(60)]
    store.fill(writable, {f"{folder}/{n}": b"" for folder in folders for n in range(12)})
    with store.counting() as seen:
        found = writable.list_folders(folders)
    assert [len(found[folder]) for folder in folders] == [12] * 60
    assert seen == {"list": 1}


def test_objects_that_stand_for_folders_are_ignored(storage):
    storage.filesystem.create_dir(f"{storage.place.connection.bucket}/lake/table/p/q")
    storage.put("p/q/a", b"1")
    assert [(found.path, found.is_dir) for found in storage.list("p")] == [("p/q", True)]
    assert [found.path for found in storage.list("p/q")] == ["p/q/a"]
    assert [found.path for found in storage.walk("")] == ["p/q/a"]


def test_a_folder_is_there_as_long_as_something_lies_in_it(storage):
    assert storage.status("p") is None
    assert storage.list("p") == []
    storage.put("p/a", b"1")
    found = storage.status("p")
    assert found is not None
    assert found.is_dir
    assert storage.exists("")
    storage.delete_all(["p/a", "p/never"])
    assert storage.status("p") is None


def test_a_missing_file_is_named_in_the_error(storage):
    with pytest.raises(MissingFileError, match=r"lake/table/gone: it is not there"):
        storage.read("gone")
    with pytest.raises(MissingFileError, match=r"lake/table/gone: it is not there"):
        storage.open_input("gone")
    storage.delete("gone")
    storage.delete_dir("gone")


@pytest.mark.parametrize("path", ["/etc", "../other", "a/../../b", "a\0b"])
def test_no_path_leads_out_of_the_root(writable, path):
    with pytest.raises(CorruptTableError, match="leads out"):
        writable.create(path, b"")
    with pytest.raises(CorruptTableError, match="leads out"):
        writable.read(path)


@pytest.mark.parametrize("size", [0, 1, PART_BYTES - 1, PART_BYTES, 2 * PART_BYTES + 5])
def test_a_stream_makes_the_file_whole_when_it_is_closed(storage, size):
    data = bytes(range(256)) * (size // 256 + 1)
    stream = storage.open_output("p/file")
    for start in range(0, size, 3 << 20):
        stream.write(data[start : min(size, start + (3 << 20))])
    assert storage.status("p/file") is None
    stream.close()
    found = storage.status("p/file")
    assert found is not None
    assert found.size_bytes == size
    with storage.open_input("p/file") as source:
        assert source.size() == size
        assert source.read() == data[:size]


def test_a_file_is_one_request_and_a_large_one_an_upload_in_parts(writable, store, monkeypatch):
    monkeypatch.setattr(objects, "ROOM", Room(2 * PART_BYTES))
    for size, wanted in (
        (1_000, {"put": 1}),
        (PART_BYTES - 1, {"put": 1}),
        (2 * PART_BYTES, {"put": 1}),
        (2 * PART_BYTES + 1, {"multipart": 5}),
        (2 * PART_BYTES, {"put": 1}),
    ):
        with store.counting() as seen, writable.open_output("p/file") as stream:
            for start in range(0, size, 7 << 20):
                stream.write(bytes(min(7 << 20, size - start)))
        assert seen == wanted


def test_files_that_are_written_at_once_share_the_room_that_there_is(writable, store, monkeypatch):
    monkeypatch.setattr(objects, "ROOM", Room(PART_BYTES + 1))
    with store.counting() as seen:
        first, second, third = (writable.open_output(name) for name in "abc")
        for stream in (first, second, third):
            stream.write(bytes(PART_BYTES))
            if stream is first:
                assert writable.status("a") is None
        third.close()
        first.abandon()
        with writable.open_output("d") as fourth:
            fourth.write(bytes(PART_BYTES))
        second.close()
    assert (seen["put"], seen["multipart"]) == (1, 2 * 3)
    assert [each.path for each in writable.list("")] == ["b", "c", "d"]


def test_what_is_not_answered_when_it_is_put_at_once_goes_in_parts(writable, store, monkeypatch):
    monkeypatch.setattr(patience, "PATIENCE", Patience(first_s=0.001, longest_s=0.002, total_s=0))
    data = bytes(range(256)) * (PART_BYTES // 256) + b"more"
    is_whole = always(Answer.UNHEARD, lambda seen: seen.kind == "put")
    with store.answering(is_whole), writable.open_output("p/file") as stream:
        stream.write(data)
    assert writable.read("p/file") == data
    small = writable.open_output("p/small")
    small.write(b"1")
    with store.answering(is_whole), pytest.raises(StorageError):
        small.close()


def test_without_obstore_a_file_of_more_than_a_part_is_an_upload(writable, store, monkeypatch):
    monkeypatch.setattr(objects, "has_obstore", lambda: False)
    with store.counting() as seen, writable.open_output("p/file") as stream:
        stream.write(bytes(PART_BYTES))
    assert seen == {"multipart": 3}


def test_a_stream_that_is_not_closed_leaves_nothing(writable, store):
    stream = writable.open_output("p/file")
    stream.write(b"1")
    del stream
    assert writable.list("p") == []


def test_parts_of_a_file_are_read_as_they_are(storage):
    data = bytes(i * i % 251 for i in range(3 << 20))
    storage.put("file", data)
    with storage.open_input("file") as source:
        for start, length in ((0, 4), (2 << 20, 10), (len(data) - 8, 8), (5, 1 << 20), (3, 0)):
            source.seek(start)
            assert source.read(length) == data[start : start + length]
        assert source.read_at(100, len(data) - 50) == data[-50:]


def test_a_storage_travels_to_workers_and_takes_no_secret_of_the_surroundings_along(
    store, monkeypatch
):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKEYofENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2hunter2")
    options = {k: v for k, v in store.options.items() if not k.endswith("_key")}
    storage = open_storage(f"s3://{store.new_bucket()}/t", options)
    storage.create("a", b"1")
    text = pickle.dumps(storage)
    assert b"hunter2" not in text
    assert b"AKEYofENV" not in text
    assert pickle.loads(text).read("a") == b"1"
    assert "testtest" not in repr(store.new_storage())


def test_the_calls_that_cost_nothing_but_themselves(writable, store):
    writable.create("a", b"1")
    for call, wanted in (
        (lambda: writable.create("b", b"1"), {"put": 1}),
        (lambda: writable.put("c", b"1"), {"put": 1}),
        (lambda: writable.read("c"), {"get": 1}),
        (lambda: writable.status("c"), {"head": 1}),
        (lambda: writable.list(""), {"list": 1}),
        (lambda: writable.walk(""), {"list": 1}),
        (lambda: writable.make_dir("d/e"), {}),
        (lambda: writable.delete("c"), {"delete": 1}),
        (lambda: writable.delete_all(["a", "b", "c"]), {"delete": 1}),
        (lambda: writable.delete_dir("d"), {"list": 1}),
    ):
        with store.counting() as seen:
            call()
        assert seen == wanted


def test_a_file_is_read_again_when_its_listing_shows_another_version(writable, store):
    writable.put("f/a", b"1")
    first = writable.read_known("f/a", "")
    (listed,) = writable.list("f")
    with store.counting() as seen:
        assert (first, writable.read_known("f/a", listed.tag)) == (b"1", b"1")
    writable.put("f/a", b"2")
    (changed,) = writable.list("f")
    with store.counting() as again:
        assert writable.read_known("f/a", changed.tag) == b"2"
    assert changed.tag != listed.tag
    assert (seen, again) == ({}, {"get": 1})


def test_what_was_created_is_settled_until_it_is_deleted(writable, store):
    writable.create("a", b"1")
    with store.counting() as seen:
        assert writable.read_settled("a") == b"1"
    writable.delete("a")
    writable.put("a", b"2")
    assert (seen, writable.read_settled("a")) == ({}, b"2")


def test_a_server_that_is_not_there_is_told_without_keys(store, monkeypatch):
    options = store.options | {"endpoint_override": "127.0.0.1:1", "secret_key": "hunter2"}
    monkeypatch.setattr("pyhudi.storage.objects.patience.PATIENCE", Patience(total_s=0.1))
    with pytest.raises(StorageError, match="cannot read s3://bucket/t/a") as caught:
        open_storage("s3://bucket/t", options).read("a")
    assert "hunter2" not in str(caught.value)
