"""Errors: what a retry can do, what a job ends with, where they happened."""

import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    HudiError,
    InvariantError,
    LateSourceError,
    OptionError,
    PlatformError,
    RecordKeyError,
    RequestError,
    SetupError,
    SourceError,
    StorageError,
    located,
)
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from tests.support.golden import golden_copy

WRONG = (OptionError, RequestError, RecordKeyError, SourceError, CorruptTableError)
RETRYABLE = {ConflictError: 3, StorageError: 4, PlatformError: 4, LateSourceError: 4}
CODES = {**dict.fromkeys(WRONG, 2), **RETRYABLE, InvariantError: 5, SetupError: 6}


@pytest.mark.parametrize("kind", CODES)
def test_the_exit_code_says_whether_a_retry_can_help(kind: type[HudiError]) -> None:
    error = kind("why")
    assert (error.exit_code, error.retryable) == (CODES[kind], kind in RETRYABLE)


def test_an_error_without_a_place_gets_that_of_the_innermost_door() -> None:
    with pytest.raises(CorruptTableError) as caught, located("/table"), located("/table/file"):
        raise CorruptTableError("it is cut short")
    assert caught.value.where == "/table/file"
    assert str(caught.value) == "it is cut short [/table/file]"


def test_an_error_that_knows_its_place_keeps_it() -> None:
    with pytest.raises(CorruptTableError, match=r"^cut short \[/a\]$"), located("/b"):
        raise CorruptTableError("cut short", where="/a")
    with pytest.raises(CorruptTableError, match=r"^/b is cut short$"), located("/b"):
        raise CorruptTableError("/b is cut short")


def test_an_error_that_is_none_of_ours_passes_as_it_is() -> None:
    with pytest.raises(KeyError), located("/table"):
        raise KeyError("x")


def test_an_error_keeps_its_place_on_its_way_between_processes() -> None:
    sent = CorruptTableError("it is cut short", where="/table")
    assert str(pickle.loads(pickle.dumps(sent))) == str(sent)


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def emptied(_: bytes) -> bytes:
    return b""


def without_version(data: bytes) -> bytes:
    return data.replace(b"hoodie.table.version=6", b"")


def with_a_senseless_header(data: bytes) -> bytes:
    """The first block keeps its length, and its header has an entry of a negative one."""
    return data[:30] + struct.pack(">i", -1) * 5 + data[50:]


@pytest.mark.parametrize(
    ("table", "files", "damaged"),
    [
        pytest.param("v6_cow_basic", ".hoodie/hoodie.properties", without_version, id="properties"),
        pytest.param("v6_cow_empty", ".hoodie/hoodie.properties", emptied, id="no properties"),
        pytest.param("v6_cow_basic", ".hoodie/*.commit", cut, id="commits"),
        pytest.param("v6_cow_overwrite", ".hoodie/*.replacecommit", cut, id="replacecommits"),
        pytest.param("v6_cow_basic", "[!.]*/*.parquet", cut, id="base files"),
        pytest.param("v6_mor_logs_avro", "[!.]*/.*.log.*", with_a_senseless_header, id="log files"),
    ],
)
def test_a_damaged_file_is_named(
    tmp_path: Path, table: str, files: str, damaged: Callable[[bytes], bytes]
) -> None:
    path = golden_copy(table, tmp_path)
    found = list(path.glob(files))
    for file in found:
        file.write_bytes(damaged(file.read_bytes()))
    with pytest.raises(CorruptTableError) as caught:
        pyhudi.read_table(str(path))
    assert caught.value.where
    # An instant is named by its time.
    names = {name for file in found for name in (file.name, file.stem)}
    assert any(name in str(caught.value) for name in names)


def read_badly(storage: Storage, path: str) -> None:
    with storage.open_input(path) as source:
        assert source.read() == b"x"
        raise CorruptTableError("cut short")


def test_what_is_wrong_with_the_content_of_an_open_file_names_the_file(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    storage.put("a/b.parquet", b"x")
    with pytest.raises(CorruptTableError, match=r"^cut short \[.*/a/b\.parquet\]$"):
        read_badly(storage, "a/b.parquet")
