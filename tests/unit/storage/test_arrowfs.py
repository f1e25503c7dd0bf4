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
from pyhudi.storage.arrowfs import ArrowStorage
from pyhudi.storage.create import refuse
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
        create_if_absent=refuse,
        replace=refuse,
    )
    with pytest.raises(UnsupportedError, match="two writers could commit"):
        remote.create(".hoodie/1.commit", b"")
