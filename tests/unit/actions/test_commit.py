"""Commit metadata, to the byte as Hudi writes it."""

import json
from pathlib import Path

import pytest

from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata, WriteStat
from pyhudi.errors import CorruptTableError
from tests.support.golden import golden_names, golden_table


def files_of_hudi(*suffixes: str) -> list[Path]:
    found = [
        path
        for name in golden_names("v6_cow_")
        for path in sorted((golden_table(name) / ".hoodie").iterdir())
        if path.name.endswith(suffixes) and path.stat().st_size
    ]
    assert found
    return found


@pytest.mark.parametrize("suffix", [".commit", ".inflight"])
def test_every_commit_and_workload_profile_of_hudi_is_written_again_to_the_byte(suffix: str):
    for path in files_of_hudi(suffix):
        data = path.read_bytes()
        # Other actions' inflight files hold plans in Avro.
        if suffix == ".commit" or data.startswith(b"{"):
            assert CommitMetadata.from_bytes(data).to_bytes() == data, path


def test_every_replacecommit_of_hudi_is_written_again_to_the_byte() -> None:
    for path in files_of_hudi(".replacecommit"):
        data = path.read_bytes()
        metadata = ReplaceCommitMetadata.from_bytes(data)
        assert metadata.partition_to_replaced_file_ids
        assert metadata.to_bytes() == data, path


def test_a_commit_of_our_own_reads_back_the_same() -> None:
    stat = WriteStat(
        file_id="f-0",
        path="é/f-0_0-1-2_3.parquet",
        num_writes=3,
        num_inserts=3,
        total_write_bytes=10,
        file_size_bytes=10,
        partition_path="é",
        total_create_time=7,
    )
    made = CommitMetadata(
        partition_to_write_stats={"é": (stat,)},
        extra_metadata={"schema": '{"type":"record"}', "_run": "7"},
        operation_type="INSERT",
    )
    read = CommitMetadata.from_bytes(made.to_bytes())
    assert (read, list(read.write_stats), read.schema_text) == (made, [stat], '{"type":"record"}')
    assert stat.prev_commit == "null"
    times = {"totalScanTime": 0, "totalUpsertTime": 0, "totalCreateTime": 7}
    assert stat.to_json()["runtimeStats"] == times


def test_statistics_travel_as_json() -> None:
    stat = WriteStat(file_id="f-0", num_deletes=2, prev_commit="1", cdc_stats={"a": 1})
    assert WriteStat.from_json(json.loads(json.dumps(stat.to_json()))) == stat


def test_unknown_and_missing_entries_are_no_matter() -> None:
    data = b'{"partitionToWriteStats": {"": [{"fileId": "f", "newThing": 1}]}, "other": {}}'
    (stat,) = CommitMetadata.from_bytes(data).write_stats
    assert (stat.file_id, stat.num_writes) == ("f", 0)


def test_a_null_number_is_its_default_and_a_null_name_stays_null() -> None:
    stat = WriteStat.from_json(
        {"fileId": "f", "numWrites": None, "logVersion": None, "baseFile": None, "prevCommit": None}
    )
    assert (stat.num_writes, stat.log_version, stat.base_file, stat.prev_commit) == (
        0,
        0,
        None,
        None,
    )


def test_an_empty_commit_says_nothing() -> None:
    assert CommitMetadata.from_bytes(b"") == CommitMetadata()
    assert CommitMetadata().schema_text is None


@pytest.mark.parametrize("data", [b'{"partitionTo', b"[]", b"Obj\x01rest", b"\xff\xfe"])
def test_bytes_that_are_no_commit_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptTableError, match="commit metadata cannot be read"):
        CommitMetadata.from_bytes(data)
