"""What a bootstrap's index says of partitions and their source files."""

import pytest

from pyhudi.actions.bootstrap_index import (
    BootstrapIndex,
    BootstrappedPartition,
    IndexInfo,
    SourceFile,
)
from pyhudi.actions.container import record_schema
from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import read_container, write_container

FILE = SourceFile(
    path="file:/data/p=a b/x%2Fy.parquet",
    size_bytes=1 << 40,
    modified_ms=1_795_258_400_706,
    accessed_ms=1_795_258_400_707,
    owner="airflow",
    group="users",
    permissions=("READ_WRITE", "READ", "NONE"),
)
OWNERLESS = SourceFile(path="s3a://lake/p/z.orc", size_bytes=4, modified_ms=5, accessed_ms=6)
PARTITION = BootstrappedPartition(
    partition_path="a b", source_partition="p=a b", files={"one": FILE, "two": OWNERLESS}
)


def test_a_partition_reads_back_as_it_was_written() -> None:
    assert BootstrappedPartition.from_bytes(PARTITION.to_bytes()) == PARTITION


def test_each_file_id_has_what_its_partition_says_of_it() -> None:
    (whole,) = read_container(PARTITION.to_bytes())
    for file_id, value in PARTITION.file_values():
        (found,) = read_container(value)
        assert found["bootstrapFileStatus"] == whole["fileIdToBootstrapFile"][file_id]
        assert (found["partitionPath"], found["bootstrapPartitionPath"]) == ("a b", "p=a b")


def test_an_info_reads_back_as_it_was_written() -> None:
    info = IndexInfo(source_base_path="file:/data", created_ms=7, key_count=2)
    assert IndexInfo.from_bytes(info.to_bytes()) == info


def test_a_file_group_has_its_source_or_none() -> None:
    index = BootstrapIndex(
        source_base_path="file:/data", created_ms=7, partitions={"a b": PARTITION}
    )
    assert index.source_of("a b", "one") is FILE
    assert index.source_of("a b", "three") is None
    assert index.source_of("c", "one") is None
    assert FILE.name == "x%2Fy.parquet"


@pytest.mark.parametrize(
    "damaged",
    [
        {"path": None},
        {"length": None},
        {"path": {"version": 1, "uri": None}},
    ],
)
def test_a_file_that_says_too_little_is_told(damaged: dict[str, object]) -> None:
    (record,) = read_container(PARTITION.to_bytes())
    record["fileIdToBootstrapFile"]["one"] |= damaged
    data = write_container(record_schema("HoodieBootstrapPartitionMetadata"), record)
    with pytest.raises(CorruptTableError, match="a partition of the bootstrap index"):
        BootstrappedPartition.from_bytes(data)


def test_bytes_that_are_no_container_are_told() -> None:
    with pytest.raises(CorruptTableError, match="the info of a bootstrap index cannot be read"):
        IndexInfo.from_bytes(b"")
