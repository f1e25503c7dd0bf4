"""What writes say in Avro, as Hudi 1.0 and 1.1 wrote it."""

import io
from pathlib import Path

import fastavro
import pytest

from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata, WriteStat
from pyhudi.actions.commit_avro import MAGIC, decode_commit, encode_commit
from pyhudi.errors import CorruptTableError
from tests.support.golden import golden_names, golden_table

LATER = [name for name in golden_names() if name.startswith(("v8", "v9")) and "v6_mor" not in name]

# Of the file before a rewritten one, and of how long it took, nothing is kept here.
NOT_KEPT = {"prevBaseFile", "totalLogReadTimeMs"}


def commits_of_hudi(name: str) -> list[Path]:
    folder = golden_table(name) / ".hoodie" / "timeline"
    suffixes = ("commit", "commit.inflight", ".inflight")
    others = ("clean.inflight", "rollback.inflight")
    return [
        path
        for path in sorted(folder.iterdir())
        if path.name.endswith(suffixes) and not path.name.endswith(others) and path.stat().st_size
    ]


def only_record(data: bytes) -> dict:
    (record,) = fastavro.reader(io.BytesIO(data))
    stats = record["partitionToWriteStats"] or {}
    for own in stats.values():
        for stat in own:
            for name in NOT_KEPT:
                stat.pop(name)
    return record


@pytest.mark.parametrize("name", LATER)
def test_every_commit_of_hudi_is_read_and_written_with_the_same_record(name: str) -> None:
    for path in commits_of_hudi(name):
        data = path.read_bytes()
        schema = fastavro.reader(io.BytesIO(data)).writer_schema
        is_replace = schema["name"].endswith("HoodieReplaceCommitMetadata")
        kind = ReplaceCommitMetadata if is_replace else CommitMetadata
        written = kind.from_bytes(data).to_avro()
        assert fastavro.reader(io.BytesIO(written)).writer_schema == schema, path
        assert only_record(written) == only_record(data), path


def test_a_commit_of_our_own_reads_back_the_same() -> None:
    log = WriteStat(file_id="f-0", path="é/.f-0_1.log.1_0-1-2", log_files=(".f-0_1.log.1_0-1-2",))
    base = WriteStat(file_id="f-1", cdc_stats={"c": 3}, base_file=None)
    made = ReplaceCommitMetadata(
        commit=CommitMetadata(
            partition_to_write_stats={"é": (base, log)},
            extra_metadata={"schema": "{}", "_run": "7"},
            operation_type="INSERT_OVERWRITE",
        ),
        partition_to_replaced_file_ids={"é": ("f-2",)},
    )
    data = made.to_avro()
    assert data.startswith(MAGIC)
    assert ReplaceCommitMetadata.from_bytes(data) == made


def test_a_text_that_is_null_becomes_an_empty_one_as_avro_has_no_other() -> None:
    data = encode_commit(
        {
            "partitionToWriteStats": {},
            "compacted": False,
            "extraMetadata": {"a": None},
            "operationType": "UPSERT",
        }
    )
    assert decode_commit(data)["extraMetadata"] == {"a": ""}


def test_bytes_that_are_no_record_are_named() -> None:
    with pytest.raises(CorruptTableError, match="commit metadata cannot be read"):
        CommitMetadata.from_bytes(MAGIC + b"nothing")
