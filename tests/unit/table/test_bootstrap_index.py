"""The two files of a bootstrap's index, of Hudi and ours."""

import io
from collections.abc import Mapping

import pytest

from pyhudi.actions.bootstrap_index import (
    BootstrapIndex,
    BootstrappedPartition,
    IndexInfo,
    SourceFile,
)
from pyhudi.basefile.hfile.reader import open_hfile
from pyhudi.basefile.hfile.writer import write_hfile
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import read_container
from pyhudi.storage.schemes import open_storage
from pyhudi.table.bootstrap_index import (
    FILE_ID_INDEX,
    PARTITION_INDEX,
    bootstrap_index_files,
    drop_bootstrap_index,
    read_bootstrap_index,
)
from tests.support.golden import golden_table
from tests.support.hfiles import entries_of
from tests.support.memory import MemoryStorage

SOURCE = "file:/tmp/hudi-golden/v6_cow_bootstrap/source"
NAME = "part-00000-c8122e22-78de-42c9-b5db-9e79b531be11.c000.snappy.parquet"


def partition(path: str, *file_ids: str) -> BootstrappedPartition:
    files = {
        each: SourceFile(path=f"file:/s/{path}/{each}", size_bytes=1, modified_ms=2, accessed_ms=3)
        for each in file_ids
    }
    return BootstrappedPartition(partition_path=path, source_partition=f"p={path}", files=files)


def index_of(*partitions: BootstrappedPartition) -> BootstrapIndex:
    return BootstrapIndex(
        source_base_path="file:/s",
        created_ms=1_795_258_401_697,
        partitions={each.partition_path: each for each in partitions},
    )


def stored(index: BootstrapIndex) -> MemoryStorage:
    return MemoryStorage(dict(bootstrap_index_files(index)))


def test_the_index_of_hudi_is_read() -> None:
    index = read_bootstrap_index(open_storage(str(golden_table("v6_cow_bootstrap"))))
    assert index is not None
    assert (index.source_base_path, index.created_ms) == (SOURCE, 1_795_258_401_697)
    assert list(index.partitions) == ["part=north", "part=south", "part=west"]
    assert index.source_of("part=west", "13ff87cb-8722-481f-b107-39cdc55ada2a") == SourceFile(
        path=f"{SOURCE}/part=west/{NAME}",
        size_bytes=2238,
        modified_ms=1_795_258_400_754,
        accessed_ms=1_795_258_400_754,
        block_bytes=33_554_432,
        owner="root",
        group="root",
        permissions=("READ_WRITE", "READ", "READ"),
    )


def values_in(content: bytes) -> Mapping[bytes, list[dict[str, object]]]:
    return {key: read_container(value) for block in entries_of(content) for key, value in block}


@pytest.mark.parametrize("name", ["v6_cow_bootstrap", "v6_mor_bootstrap"])
def test_both_files_made_of_it_have_the_entries_of_hudi(name: str) -> None:
    folder = golden_table(name)
    index = read_bootstrap_index(open_storage(str(folder)))
    assert index is not None
    for path, ours in bootstrap_index_files(index).items():
        hudis = (folder / path).read_bytes()
        assert values_in(ours) == values_in(hudis)
        (info,) = read_container(open_hfile(hudis).info[b"INDEX_INFO"])
        # Hudi asks for the time once a file.
        info["createdTimestamp"] = index.created_ms
        assert read_container(open_hfile(ours).info[b"INDEX_INFO"]) == [info]


def test_an_index_reads_back_as_it_was_written() -> None:
    odd = ("1", "10", "2", "a b/c%2Fd", "zürich", "", "x;fileid=y", "e=f;g")
    index = index_of(*(partition(path, "one", "two", "a;b") for path in odd))
    assert read_bootstrap_index(stored(index)) == index


def test_keys_are_in_the_order_in_which_readers_seek() -> None:
    files = bootstrap_index_files(index_of(partition("1", "f", "e"), partition("10", "g")))
    keys = {path: [key for b in entries_of(data) for key, _ in b] for path, data in files.items()}
    assert keys == {
        PARTITION_INDEX: [b"part=1", b"part=10"],
        FILE_ID_INDEX: [b"part=10;fileid=g", b"part=1;fileid=e", b"part=1;fileid=f"],
    }


def test_some_partitions_are_read_and_others_left() -> None:
    storage = stored(index_of(partition("a", "one"), partition("b", "two")))
    found = read_bootstrap_index(storage, ["b", "c"])
    assert found is not None
    assert list(found.partitions) == ["b"]
    assert found.source_of("a", "one") is None


@pytest.mark.parametrize("gone", [PARTITION_INDEX, FILE_ID_INDEX])
def test_half_an_index_is_none(gone: str) -> None:
    storage = stored(index_of(partition("a", "one")))
    storage.delete(gone)
    assert read_bootstrap_index(storage) is None


def test_a_dropped_index_is_none_and_can_be_dropped_again() -> None:
    storage = stored(index_of(partition("a", "one")))
    for _ in range(2):
        drop_bootstrap_index(storage)
        assert not storage.files
        assert read_bootstrap_index(storage) is None


def hfile(*entries: tuple[bytes, bytes], count: int | None = None) -> bytes:
    sink = io.BytesIO()
    count = len(entries) if count is None else count
    info = IndexInfo(source_base_path="file:/s", created_ms=0, key_count=count)
    write_hfile(sink, entries, info={b"INDEX_INFO": info.to_bytes()})
    return sink.getvalue()


def without_info() -> bytes:
    sink = io.BytesIO()
    write_hfile(sink, [], info={})
    return sink.getvalue()


ENTRY = (b"part=a", partition("a", "one").to_bytes())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "no trailer of an HFile", id="empty"),
        pytest.param(without_info(), "info of a bootstrap index", id="no_info"),
        pytest.param(hfile(ENTRY, count=2), "1 partitions and says 2", id="count"),
        pytest.param(hfile((b"b", ENTRY[1])), "has the key 'b'", id="key"),
        pytest.param(hfile((b"part=b", ENTRY[1])), "'a' under that of 'b'", id="other"),
        pytest.param(hfile((b"part=a", b"")), "a partition of the bootstrap", id="value"),
    ],
)
def test_a_damaged_index_is_told_by_the_name_of_its_file(content: bytes, message: str) -> None:
    storage = MemoryStorage({PARTITION_INDEX: content, FILE_ID_INDEX: b""})
    with pytest.raises(CorruptTableError, match=message) as error:
        read_bootstrap_index(storage)
    assert PARTITION_INDEX in str(error.value)
