"""What the history has of an instant, as its file had it."""

from io import BytesIO

import fastavro
import pytest

from pyhudi.actions.archived import ArchivedFile
from pyhudi.actions.commit import CommitMetadata
from pyhudi.actions.container import record_schema
from pyhudi.actions.history_row import HistoryRow
from pyhudi.actions.version_bodies import archived_of
from pyhudi.errors import CorruptTableError

TIME, ENDED = "20260101000000000", "20260101000000900"


def bare(operation: str) -> bytes:
    """A commit as the upgrade of Hudi 1.0.2 leaves it: no container, and so no schema."""
    (record,) = fastavro.reader(BytesIO(CommitMetadata(operation_type=operation).to_avro()))
    sink = BytesIO()
    fastavro.schemaless_writer(sink, record_schema("HoodieCommitMetadata"), record)
    return sink.getvalue()


def test_a_record_without_a_container_is_read_by_its_action() -> None:
    found = ArchivedFile.from_history(TIME, "commit", ENDED, bare("UPSERT")).commit
    assert found is not None
    assert found.commit.operation_type == "UPSERT"
    row = HistoryRow(time=TIME, completion_time=ENDED, action="commit", metadata=bare("INSERT"))
    down = archived_of(row).commit
    assert down is not None
    assert down.commit.operation_type == "INSERT"


def test_bytes_that_are_no_record_are_refused() -> None:
    with pytest.raises(CorruptTableError):
        ArchivedFile.from_history(TIME, "commit", ENDED, b"\x09\x9c")
