"""What the engine rests on: files appear whole, and only once."""

import os
import pickle

import pytest

from pyhudi.errors import (
    AlreadyExistsError,
    MissingFileError,
    OptionError,
    StorageError,
    UnsupportedError,
)
from pyhudi.storage import create
from pyhudi.storage.arrowfs import ArrowStorage
from pyhudi.storage.schemes import open_storage
from tests.support.threads import only_winner


@pytest.fixture
def storage(tmp_path):
    return open_storage(str(tmp_path / "table"))


def test_of_many_creators_of_one_file_exactly_one_succeeds(storage):
    winner = only_winner(8, lambda n: storage.create(".hoodie/1.commit", str(n).encode()))
    assert storage.read(".hoodie/1.commit") == str(winner).encode()


def test_nothing_but_the_file_itself_is_left_behind(storage):
    storage.create("a/one", b"1")
    with pytest.raises(AlreadyExistsError, match="already there"):
        storage.create("a/one", b"2")
    storage.put("a/one", b"3")
    assert [status.path for status in storage.list("a")] == ["a/one"]
    assert storage.read("a/one") == b"3"


@pytest.mark.parametrize("call", ["create", "put"])
def test_a_process_that_is_killed_before_a_file_appears_leaves_none(storage, monkeypatch, call):
    if not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    storage.make_dir("a")
    child = os.fork()
    if not child:
        monkeypatch.setattr(os, "link", lambda *_, **__: os._exit(0))
        getattr(storage, call)("a/one", b"1")
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert storage.list("a") == []


def test_files_appear_whole_where_none_can_be_without_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(create, "_HAS_NAMELESS", False)
    for number, test in enumerate(
        (
            test_of_many_creators_of_one_file_exactly_one_succeeds,
            test_nothing_but_the_file_itself_is_left_behind,
            test_replacing_a_file_removes_the_checksum_of_its_old_bytes,
        )
    ):
        test(open_storage(str(tmp_path / str(number))))


def test_replacing_a_file_removes_the_checksum_of_its_old_bytes(storage):
    storage.create("hoodie.properties", b"old")
    storage.create(".hoodie.properties.crc", b"crc of old")
    storage.put("hoodie.properties", b"new")
    assert [status.path for status in storage.list("")] == ["hoodie.properties"]


def test_a_missing_file_is_named_in_the_error(storage):
    with pytest.raises(MissingFileError, match=r"table/gone: it is not there"):
        storage.read("gone")
    assert storage.status("gone") is None
    assert storage.delete("gone") is False
    assert storage.list("gone") == []
    storage.delete_dir("gone")


def test_a_folder_that_cannot_be_made_is_an_error_of_the_storage(storage, tmp_path):
    (tmp_path / "table").write_text("a file where the table should be")
    with pytest.raises(StorageError, match="table"):
        storage.create("a/b", b"")


def test_a_storage_travels_to_workers(storage):
    storage.create("a", b"1")
    assert pickle.loads(pickle.dumps(storage)).read("a") == b"1"


def test_a_file_uri_and_a_path_are_the_same_table(tmp_path):
    open_storage(f"file://{tmp_path}/with%20space").create("a", b"1")
    assert os.path.exists(tmp_path / "with space" / "a")


def test_an_empty_path_and_an_unknown_scheme_are_refused():
    with pytest.raises(OptionError, match="empty"):
        open_storage(" ")
    with pytest.raises(OptionError, match="nosuch"):
        open_storage("nosuch://bucket/table")


def test_where_no_file_can_be_created_exclusively_writes_are_refused(storage):
    remote = ArrowStorage(
        filesystem=storage.filesystem,
        root=storage.root,
        uri="s3://bucket/table",
        create_if_absent=create.refuse,
        replace=create.refuse,
    )
    with pytest.raises(UnsupportedError, match="two writers could commit"):
        remote.create(".hoodie/1.commit", b"")
