"""The archive of a table: Hudi's bytes both ways, and what is found in them."""

import struct
from pathlib import Path

import pytest

from pyhudi.actions.archived import ArchivedFile, archive_schema
from pyhudi.errors import AlreadyExistsError, CorruptTableError
from pyhudi.logfile.archive import encode_archive
from pyhudi.logfile.framing import BlockKind, encode_block
from pyhudi.table.archived import ArchivedTimeline, instant_of
from pyhudi.table.table import open_table
from pyhudi.timeline.instant import Action, State
from tests.support.golden import golden_table
from tests.support.in_process import CONFIG
from tests.support.memory import MemoryStorage

GOLDEN = "v6_cow_archived"
FILE = ".hoodie/archived/.commits_.archive.{}_1-0-1"


def golden_archive() -> ArchivedTimeline:
    table = open_table(golden_table(GOLDEN))
    return ArchivedTimeline.of(table.storage, table.config)


def archive_with(**files: bytes) -> ArchivedTimeline:
    """An archive with files by their number."""
    storage = MemoryStorage({FILE.format(name[1:]): data for name, data in files.items()})
    return ArchivedTimeline.of(storage, CONFIG)


def encoded(*times: str) -> bytes:
    files = [ArchivedFile(time=time, action="commit", state="COMPLETED") for time in times]
    return encode_archive([file.to_record() for file in files], archive_schema(), 2)


def test_what_hudi_archived_is_written_again_to_the_byte() -> None:
    archive = golden_archive()
    assert [file.number for file in archive.files()] == [5, 4, 3, 2, 1]
    for file in archive.files():
        records = [record.to_record() for record in archive.read(file)]
        data = Path(archive.storage.absolute(file.status.path)).read_bytes()
        assert encode_archive(records, archive_schema(), 2) == data


def test_the_archived_part_of_a_timeline_of_hudi_goes_before_the_rest() -> None:
    table = open_table(golden_table(GOLDEN))
    archived = golden_archive().load()
    assert [each.action for each in archived] == [
        *[Action.COMMIT] * 4,
        *[Action.CLEAN, Action.COMMIT] * 2,
        *[Action.CLEAN] * 2,
    ]
    assert all(each.is_completed for each in archived)
    first, last = table.timeline.write_instants().first, archived.write_instants().last
    assert first is not None
    assert last is not None
    assert last.time < first.time
    assert table.timeline.is_committed(last.time)


def test_a_commit_of_hudi_keeps_its_statistics() -> None:
    archive = golden_archive()
    found = [
        record.commit.commit
        for file in archive.files()
        for record in archive.read(file)
        if record.commit is not None
    ]
    assert {each.operation_type for each in found} == {"UPSERT", "INSERT"}
    assert all(stat.path and stat.num_writes for each in found for stat in each.write_stats)


def test_an_instant_that_is_archived_twice_is_one() -> None:
    archive = archive_with(_1=encoded("20260101000000000", "20260102000000000"))
    archive.create(2, list(archive.read(archive.files()[0]))[1:], 10)
    assert [each.time for each in archive.load()] == ["20260101000000000", "20260102000000000"]
    with pytest.raises(AlreadyExistsError):
        archive.create(2, [], 10)


def test_files_are_ordered_by_their_number_and_others_left_out() -> None:
    archive = archive_with(_2=encoded("2"), _10=encoded("10"), _9=encoded("9"))
    archive.storage.put(".hoodie/archived/mergeArchivePlan", b"?")
    archive.storage.put(f".hoodie/archived/.{FILE.format(9).rpartition('/')[2]}.crc", b"?")
    assert [file.number for file in archive.files()] == [10, 9, 2]


def test_small_files_that_are_being_merged_are_read_once_each() -> None:
    """Until they are deleted they lie beside the merged file, which may be cut short."""
    whole = encoded("1", "2", "3", "4")
    for length in (0, len(whole) // 2 - 1, len(whole) - 1, len(whole)):
        small = {"_1": encoded("1", "2"), "_2": encoded("3", "4")}
        archive = archive_with(**small, _3=whole[:length])
        assert [each.time for each in archive.load()] == ["1", "2", "3", "4"], length


def test_a_whole_block_that_holds_something_else_is_named() -> None:
    record = ArchivedFile(time="1", action="commit", state="COMPLETED").to_record()
    content = struct.pack(">iii", 3, 1, len(record))
    damaged = {
        "no schema": encode_block(BlockKind.AVRO, {}, content + record),
        "no records": encode_block(BlockKind.DELETE, {2: archive_schema()}, content),
        "cut short": encode_block(BlockKind.AVRO, {2: archive_schema()}, content + record[:-1]),
        "no count": encode_block(BlockKind.AVRO, {2: archive_schema()}, b"\0"),
        "no Avro": encode_block(
            BlockKind.AVRO, {2: archive_schema()}, content + b"\xff" * len(record)
        ),
        "schema of nothing": encode_block(BlockKind.AVRO, {2: '{"type": "x"}'}, content + record),
    }
    for data in damaged.values():
        with pytest.raises(CorruptTableError, match=r"commits_\.archive\.1_1-0-1"):
            archive_with(_1=data).load()


def test_an_action_that_is_not_known_is_left_out() -> None:
    other = ArchivedFile(time="1", action="dance", state="COMPLETED")
    assert instant_of(other) is None
    old = ArchivedFile.from_record(
        ArchivedFile(time="1", action="savepoint", state="COMPLETED").to_record(), archive_schema()
    )
    found = instant_of(old)
    assert found is not None
    assert found.state is State.COMPLETED
