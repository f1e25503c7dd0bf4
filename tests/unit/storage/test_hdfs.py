"""HDFS without a cluster: what is refused, and what is made of answers that tell nothing."""

import importlib.util
import io
import pickle
import socket
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from pyhudi.errors import (
    AlreadyExistsError,
    CorruptTableError,
    MissingFileError,
    OptionError,
    SetupError,
    StorageError,
    UnclearAnswerError,
)
from pyhudi.storage import hdfs
from pyhudi.storage.hdfs import HdfsStorage
from pyhudi.storage.schemes import open_storage

NAME = "/lake/.hoodie/1.commit"


class NameNode:
    """Files as the client of hdfs-native shows them; ``lost`` are what becomes of answers."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.lost: dict[str, Callable[[Callable[[], object]], object]] = {}

    def __call__(self, name: str, act: Callable[[], object]) -> object:
        return self.lost[name](act) if name in self.lost else act()

    def get_file_info(self, path: str) -> object:
        def act() -> object:
            if path not in self.files:
                raise FileNotFoundError(path)
            return SimpleNamespace(
                path=path, isdir=False, length=len(self.files[path]), modification_time=0
            )

        return self("info", act)

    def create(self, path: str, options: object) -> io.BytesIO:
        files = self.files

        class Stream(io.BytesIO):
            def close(self) -> None:
                files[path] = self.getvalue()
                super().close()

        return self("create", Stream)

    def rename(self, source: str, target: str, overwrite: bool = False) -> None:
        def act() -> None:
            if source not in self.files:
                raise FileNotFoundError(f"rename source {source} is not found.")
            if target in self.files and not overwrite:
                raise FileExistsError(f"rename destination {target} already exists")
            self.files[target] = self.files.pop(source)

        self("rename", act)

    def delete(self, path: str, recursive: bool = False) -> bool:
        return self("delete", lambda: self.files.pop(path, None) is not None)

    def read(self, path: str) -> io.BytesIO:
        if path not in self.files:
            raise FileNotFoundError(path)
        return io.BytesIO(self.files[path])

    def list_status(self, path: str, recursive: bool = False) -> Iterator[object]:
        below = [each for each in self.files if each.startswith(f"{path}/")]
        return iter([self.get_file_info(each) for each in below])


def not_done(_: Callable[[], object]) -> object:
    raise OSError("Connection reset by peer")


def done_and_lost(act: Callable[[], object]) -> object:
    act()
    raise OSError("Connection reset by peer")


def done_twice(act: Callable[[], object]) -> object:
    """As hdfs-native does when an answer is lost."""
    act()
    return act()


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> NameNode:
    made = NameNode()
    monkeypatch.setattr(hdfs, "_client_of", lambda *_: made)
    monkeypatch.setattr(hdfs, "_check_name_node", lambda _: None)
    return made


@pytest.fixture
def storage() -> HdfsStorage:
    return HdfsStorage(cluster="hdfs://n:8020", root="/lake", uri="hdfs://n:8020/lake")


@pytest.mark.parametrize("answer", [done_and_lost, done_twice])
@pytest.mark.parametrize("data", [b"bytes", b""])
def test_a_create_whose_answer_was_lost_has_succeeded(
    node: NameNode, storage: HdfsStorage, answer: object, data: bytes
) -> None:
    node.lost["rename"] = answer
    storage.create(".hoodie/1.commit", data)
    assert node.files == {NAME: data}


def test_a_create_that_was_not_carried_out_never_will_be(
    node: NameNode, storage: HdfsStorage
) -> None:
    late: list[Callable[[], object]] = []

    def under_way(act: Callable[[], object]) -> object:
        late.append(act)
        raise OSError("timed out")

    node.lost["rename"] = under_way
    with pytest.raises(StorageError, match="timed out"):
        storage.create(".hoodie/1.commit", b"bytes")
    with pytest.raises(FileNotFoundError):
        late[0]()
    assert node.files == {}


@pytest.mark.parametrize("answer", [None, done_twice, not_done])
def test_a_create_that_lost_the_race_leaves_the_file_of_the_winner_alone(
    node: NameNode, storage: HdfsStorage, answer: Callable[[Callable[[], object]], object] | None
) -> None:
    node.files[NAME] = b"theirs"
    if answer:
        node.lost["rename"] = answer
    expected = StorageError if answer is not_done else AlreadyExistsError
    with pytest.raises(expected):
        storage.create(".hoodie/1.commit", b"theirs")
    assert node.files == {NAME: b"theirs"}


def test_where_the_rename_left_between_two_looks_the_bytes_decide(
    node: NameNode, storage: HdfsStorage
) -> None:
    late: list[Callable[[], object]] = []

    def under_way(act: Callable[[], object]) -> object:
        late.append(act)
        raise OSError("timed out")

    def just_then(act: Callable[[], object]) -> object:
        late.pop()()
        return act()

    node.lost |= {"rename": under_way, "delete": just_then}
    storage.create(".hoodie/1.commit", b"bytes")
    assert node.files == {NAME: b"bytes"}
    node.files.clear()
    with pytest.raises(UnclearAnswerError, match="nobody can tell"):
        storage.create(".hoodie/1.commit", b"")


def test_where_the_folder_was_deleted_meanwhile_nothing_is_said_to_be_made(
    node: NameNode, storage: HdfsStorage
) -> None:
    def deleted(_: Callable[[], object]) -> object:
        node.files.clear()
        raise FileNotFoundError("rename source is not found")

    node.lost["rename"] = deleted
    for call in (storage.create, storage.put):
        with pytest.raises(UnclearAnswerError, match="nobody can tell"):
            call(".hoodie/1.commit", b"bytes")


@pytest.mark.parametrize("answer", [done_and_lost, done_twice])
def test_a_put_whose_answer_was_lost_has_succeeded(
    node: NameNode, storage: HdfsStorage, answer: object
) -> None:
    node.files[NAME] = b"old"
    node.lost["rename"] = answer
    storage.put(".hoodie/1.commit", b"new")
    assert node.files == {NAME: b"new"}


def test_a_put_that_failed_leaves_the_old_bytes_and_nothing_beside(
    node: NameNode, storage: HdfsStorage
) -> None:
    node.files[NAME] = b"old"
    node.lost["rename"] = not_done
    with pytest.raises(StorageError, match=r"cannot write /lake/\.hoodie/1\.commit"):
        storage.put(".hoodie/1.commit", b"new")
    assert node.files == {NAME: b"old"}


def test_a_file_that_cannot_be_filled_is_not_left_behind(
    node: NameNode, storage: HdfsStorage
) -> None:
    node.lost["create"] = done_and_lost
    with pytest.raises(StorageError, match="cannot create"):
        storage.create(".hoodie/1.commit", b"new")
    assert node.files == {}


def test_files_on_their_way_to_their_names_are_not_listed(
    node: NameNode, storage: HdfsStorage
) -> None:
    node.files |= {"/lake/a/.1.pyhudi-0123456789abcdef": b"", "/lake/a/.1.log": b""}
    assert [each.path for each in storage.list("a")] == ["a/.1.log"]
    assert [each.path for each in storage.walk("")] == ["a/.1.log"]


def test_an_error_of_the_name_node_is_told_without_its_stack(
    node: NameNode, storage: HdfsStorage
) -> None:
    def refused(_: Callable[[], object]) -> object:
        raise RuntimeError('RPCError("AccessControlException", "denied\\n\\tat org.apache")')

    node.lost["info"] = refused
    with pytest.raises(StorageError, match=r"cannot look at /lake/a: .*denied$"):
        storage.status("a")


def test_a_missing_file_and_a_path_that_leads_out_are_told_apart(
    node: NameNode, storage: HdfsStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.lost["read"] = done_and_lost
    monkeypatch.setattr(node, "read", node.get_file_info)
    with pytest.raises(MissingFileError, match="cannot read /lake/gone"):
        storage.read("gone")
    for path in ("../x", "/x", "a/../../x", "a\0b"):
        with pytest.raises(CorruptTableError, match="leads out"):
            storage.read(path)


def test_without_hdfs_native_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    hdfs._client_of.cache_clear()
    with pytest.raises(SetupError, match=r"on every worker: pip install .*\[hdfs\]"):
        open_storage("hdfs://namenode:8020/lake")


def test_a_user_in_the_path_is_refused_rather_than_ignored(node: NameNode) -> None:
    with pytest.raises(OptionError, match="HADOOP_USER_NAME"):
        open_storage("hdfs://alice@namenode:8020/lake")


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_a_number_that_is_none_is_refused(node: NameNode, value: str) -> None:
    with pytest.raises(OptionError, match=f"replication='{value}'"):
        open_storage("hdfs://namenode:8020/lake", {"replication": value})


def test_options_reach_files_and_client(node: NameNode) -> None:
    options = {"replication": "2", "default_block_size": "1048576", "dfs.a": "b"}
    storage = open_storage("hdfs://namenode:8020//lake/a%20b/", options)
    assert isinstance(storage, HdfsStorage)
    assert (storage.cluster, storage.root) == ("hdfs://namenode:8020", "/lake/a b")
    assert (storage.replication, storage.block_bytes) == (2, 1 << 20)
    assert storage.settings == (("dfs.a", "b"),)
    assert pickle.loads(pickle.dumps(storage)) == storage


def test_a_cluster_that_no_configuration_explains_is_an_error_that_says_where_to_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("hdfs_native")
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    for uri in ("hdfs:///lake", "hdfs://nowhere/lake", "viewfs://nowhere/lake"):
        with pytest.raises(StorageError, match="HADOOP_CONF_DIR"):
            open_storage(uri)


def test_where_no_name_node_answers_it_is_said_soon_and_where(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(hdfs.time, "sleep", slept.append)
    monkeypatch.setattr(hdfs, "_client_of", lambda *_: NameNode())
    said = r"cannot open hdfs://127.0.0.1:1/lake: no name node answers at 127.0.0.1:1 .*refused"
    with pytest.raises(StorageError, match=said):
        open_storage("hdfs://127.0.0.1:1/lake")
    assert slept == [1.0] * 9
    (line,) = caplog.records
    assert "it is tried 10 times" in line.getMessage()


def test_a_name_node_that_comes_up_meanwhile_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    started: list[socket.socket] = []
    monkeypatch.setattr(
        hdfs.time,
        "sleep",
        lambda _: started.append(socket.create_server(("127.0.0.1", port))),
    )
    hdfs._check_name_node(f"hdfs://127.0.0.1:{port}")
    assert len(started) == 1
    started[0].close()
    # Who has answered once is not asked again.
    hdfs._check_name_node(f"hdfs://127.0.0.1:{port}")


def test_a_name_of_several_hosts_is_left_to_the_client() -> None:
    for cluster in ("hdfs://nameservice", "hdfs://", "viewfs://mounts"):
        hdfs._check_name_node(cluster)
