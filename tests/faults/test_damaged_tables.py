"""Damage to what was committed is told by name, or passed over where a reader asks for that.

What the commits say of their files, names, sizes, and where each write lies in a log file, tells
every loss of bytes and every change in the frames of log blocks. The format has no checksum for
the values of Avro records, so that a change within them cannot be told.
"""

import re
from collections.abc import Callable
from functools import partial

import pyarrow.compute as pc
import pytest

from pyhudi.cli.validation.findings import Grade
from pyhudi.cli.validation.validate import Scope, validate_table
from pyhudi.errors import CorruptTableError, HudiError, MissingFileError
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from tests.support.damaging import FIRST, SECOND, THIRD, damages_of, tables
from tests.support.faulty import Faults, FaultyStorage
from tests.support.golden_memory import read_texts
from tests.support.in_process import (
    NOW_MS,
    Rows,
    archive,
    clock_at,
    compaction,
    data_files,
    dead_write,
    options_of,
    outcome,
    read_rows,
    read_tables,
    write,
)
from tests.support.log_files import avro_block, rows
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.reliability import PAGE, REWRITE, damage_row

TABLES = tables()
TRIED = 1 if IS_WHOLE else 40 * STEP
"""Of the damages to a table, every so many-th is tried."""

LATER = clock_at(NOW_MS + 60_000)


@pytest.fixture(autouse=True)
def no_garbage() -> None:
    """No output is left open here, so nothing has to be collected after each test."""


def logged() -> MemoryStorage:
    return TABLES["merge_on_read, SIMPLE"]()


def copied() -> MemoryStorage:
    return TABLES["copy_on_write, SIMPLE"]()


def newest(storage: MemoryStorage, partition: str, *, log: bool) -> str:
    """The file of a partition that a write made last."""
    (found,) = load_table(storage).latest_slices([partition])
    return found.log_files[-1].path if log else getattr(found.base_file, "path", "")


@pytest.mark.parametrize("number", range(len(TABLES)), ids=[name.split(",")[0] for name in TABLES])
def test_damage_to_what_was_committed_is_told_by_name(
    number: int, record_property: Callable[[str, object], None]
) -> None:
    name, make = list(TABLES.items())[number]
    whole = make()
    every = damages_of(whole)
    told = PAGE.read_text(encoding="utf-8")
    assert IS_WHOLE or damage_row(name, every) in told, f"{REWRITE} writes {PAGE.name} again"
    chosen = every[number % TRIED :: TRIED]
    for damage in chosen:
        raised = outcome(partial(read_texts, damage.in_storage(whole)))
        assert isinstance(raised, HudiError), (damage.path, damage.what, raised)
        assert damage.path in str(raised), (damage.path, damage.what, raised)
        assert damage.path in listed(damage.in_storage(whole)), (damage.path, damage.what)
    record_property("damages", len(chosen))


def listed(storage: MemoryStorage) -> set[str]:
    """The files that a validation lists as damaged."""
    found = validate_table(load_table(storage), Scope(), lambda done, total: None).findings
    return {each.where for each in found if each.grade is Grade.ERROR}


def test_an_error_says_which_file_which_write_and_what_to_do() -> None:
    storage = logged()
    path = newest(storage, "x", log=True)
    storage.put(path, storage.files[path][:-1])
    last = load_table(storage).timeline.last_completed
    assert last is not None
    message = rf"{re.escape(path)} has .* bytes of .* the write {last.time}: .*skip\.damaged=true"
    with pytest.raises(CorruptTableError, match=message):
        read_rows(storage)


@pytest.mark.parametrize("length", [0, -1])
def test_a_reader_that_asks_for_it_takes_what_is_left(length: int) -> None:
    storage = logged()
    path = newest(storage, "x", log=True)
    storage.put(path, storage.files[path][:length])
    left = {**FIRST, **SECOND, ("y", "c"): THIRD["y", "c"]}
    assert {key: row for part in [read_rows_skipping(storage)] for key, row in part.items()} == left
    storage = copied()
    storage.delete(newest(storage, "x", log=False))
    assert read_rows_skipping(storage) == left


def read_rows_skipping(storage: Storage) -> Rows:
    return read_rows(storage, skip_damaged=True)


def test_a_folder_that_is_gone_is_missed_also_where_only_it_is_asked_for() -> None:
    storage = copied()
    storage.delete_all(storage.below("y"))
    with pytest.raises(CorruptTableError, match=r"y/.* is not there"):
        read_rows(storage)
    with pytest.raises(CorruptTableError, match=r"y/.* is not there"):
        read_tables(storage, filters=pc.field("part") == "y")
    read_tables(storage, filters=pc.field("part") == "x")


def test_only_what_a_query_reads_has_to_be_whole() -> None:
    storage = logged()
    times = [each.time for each in load_table(storage).timeline.completed()]
    storage.delete(newest(storage, "x", log=True))
    assert read_rows(storage, as_of=times[1]) == {**FIRST, **SECOND}
    assert read_rows(storage, query_type="read_optimized")
    with pytest.raises(CorruptTableError):
        read_rows(storage, query_type="incremental", begin=times[0])
    assert read_rows(storage, query_type="incremental", begin=times[2]) == {}


def test_what_writes_left_that_were_never_completed_is_passed_over() -> None:
    storage = logged()
    before = data_files(storage)
    dead_write(storage, {("x", "a"): (9, "dead"), ("y", "n"): (9, "dead")}, LATER)
    (torn, *_) = [path for path in data_files(storage) - before if ".log." in path]
    for length in (0, 20, len(storage.files[torn]) - 1):
        cut = storage.copy()
        cut.put(torn, storage.files[torn][:length])
        assert read_rows(cut) == {**FIRST, **SECOND, **THIRD}


def test_torn_bytes_behind_committed_ones_are_passed_over() -> None:
    storage = logged()
    path = newest(storage, "x", log=True)
    block = avro_block("1", rows(("a", 9, "torn")))
    storage.put(path, storage.files[path] + block[:-3])
    assert read_rows(storage) == {**FIRST, **SECOND, **THIRD}


def test_a_file_that_was_cleaned_while_the_table_was_read_asks_for_a_retry() -> None:
    storage = copied()
    opened = load_table(storage)
    old = newest(storage, "x", log=False)
    write(storage, {("x", "a"): (9, "newer")}, LATER)
    storage.delete(old)
    with pytest.raises(MissingFileError, match="Retry"):
        opened.latest_base_files()
    assert read_rows(storage)["x", "a"] == (9, "newer")


def test_a_commit_that_was_archived_while_the_table_was_read_is_not_missed() -> None:
    storage = copied()
    opened = load_table(storage)
    for path in [path for path in storage.below(".hoodie") if path.endswith(".commit")][:1]:
        storage.delete_all([path, f"{path}.requested", path.replace(".commit", ".inflight")])
    assert len(opened.latest_base_files()) == 2


def test_a_commit_that_was_rolled_back_while_the_table_was_read_asks_for_a_retry() -> None:
    storage = copied()
    opened = load_table(storage)
    storage.delete([path for path in storage.below(".hoodie") if path.endswith(".commit")][-1])
    with pytest.raises(MissingFileError, match="rolled back while the table was read"):
        opened.latest_base_files()


@pytest.mark.parametrize("make", [logged, copied])
def test_a_write_on_top_of_damage_is_refused_unless_it_is_to_go_on(
    make: Callable[[], MemoryStorage],
) -> None:
    storage = make()
    path = newest(storage, "x", log=make is logged)
    storage.delete(path)
    before = dict(storage.files)
    update: Rows = {("x", "a"): (9, "mended")}
    with pytest.raises(CorruptTableError, match=re.escape(path)):
        write(storage, update, LATER)
    assert data_files(storage) == {each for each in before if each in data_files(storage)}
    kind = load_table(storage).config.table_type.value
    write(storage, update, LATER, options=options_of(kind, pyhudi__read__skip__damaged="true"))
    assert read_rows_skipping(storage)["x", "a"] == (9, "mended")


def test_a_compaction_of_damaged_files_is_refused_and_stays_planned() -> None:
    storage = logged()
    service = compaction(storage, LATER)
    planned = service.schedule().instant
    assert planned
    path = newest(storage, "x", log=True)
    storage.put(path, storage.files[path][:-1])
    with pytest.raises(CorruptTableError, match=re.escape(path)):
        service.execute(planned)
    assert service.oldest_pending() == planned
    compaction(storage, LATER, pyhudi__read__skip__damaged="true").execute(planned)
    # What was lost is no longer needed.
    assert read_rows(storage) == {**FIRST, **SECOND, ("y", "c"): THIRD["y", "c"]}


def test_a_damaged_block_is_found_by_the_task_that_compacts_it() -> None:
    storage = logged()
    service = compaction(storage, LATER)
    planned = service.schedule().instant
    path = newest(storage, "x", log=True)
    data = bytearray(storage.files[path])
    data[0] ^= 1
    storage.put(path, bytes(data))
    with pytest.raises(CorruptTableError, match=rf"{re.escape(path)} is damaged in bytes 0 to"):
        service.execute(planned)
    assert service.oldest_pending() == planned


def test_a_partition_that_is_overwritten_is_mended() -> None:
    storage = copied()
    storage.delete_all(storage.below("x"))
    fresh: Rows = {("x", "z"): (9, "fresh")}
    write(storage, fresh, LATER, "insert_overwrite")
    assert read_rows(storage) == {**fresh, ("y", "c"): THIRD["y", "c"]}


def test_a_table_lists_all_that_is_damaged() -> None:
    storage = logged()
    log, base = newest(storage, "x", log=True), newest(storage, "y", log=False)
    storage.put(log, storage.files[log][:-1])
    storage.delete(base)
    found = load_table(storage).damages()
    assert [(each.path, each.is_gone) for each in found] == [(log, False), (base, True)]
    assert load_table(storage).damages(["y"]) == found[1:]


def test_looking_costs_one_small_file_for_each_write() -> None:
    storage = logged()

    def calls(*, skip: bool) -> int:
        faults = Faults()
        read_tables(FaultyStorage(storage, faults), skip_damaged=skip)
        return faults.calls

    writes = len(load_table(storage).timeline.write_instants().completed())
    assert calls(skip=False) - calls(skip=True) == writes


def archived() -> tuple[MemoryStorage, str, Rows]:
    """A table whose older delta commits are archived, and a log file of theirs that is read."""
    storage, options = MemoryStorage(now_ms=NOW_MS), options_of("MERGE_ON_READ")
    batches: list[Rows] = [FIRST, SECOND, *({("y", "c"): (number, "y")} for number in range(3, 8))]
    for number, batch in enumerate(batches):
        write(storage, batch, clock_at(NOW_MS + 1_000 * number), options=options)
    path = newest(storage, "x", log=True)
    archive(storage, clock_at(NOW_MS + 10_000))
    return storage, path, {**FIRST, **SECOND, **batches[-1]}


def test_a_log_file_of_an_archived_write_that_is_damaged_is_told_by_name() -> None:
    """Its bytes may be rows, and what wrote them is known from the archive."""
    whole, path, rows = archived()
    assert read_rows(whole) == rows
    data = whole.files[path]
    flipped = bytes([*data[:3], data[3] ^ 0xFF, *data[4:]])
    for what, damaged in (("cut", data[:-3]), ("cut midway", data[:70]), ("flipped", flipped)):
        storage = whole.copy()
        storage.put(path, damaged)
        told = rf"{re.escape(path)} .*which the write|{re.escape(path)} ends at byte"
        for act in (
            partial(read_rows, storage),
            compaction(storage, LATER).schedule_and_execute,
        ):
            with pytest.raises(CorruptTableError, match=told):
                act()
        left = {**rows, ("x", "b"): FIRST["x", "b"]}
        assert read_rows_skipping(storage) == left, what


def test_the_archive_is_not_asked_about_whole_files_nor_blamed_for_dead_writes() -> None:
    whole, path, rows = archived()
    reads = list[str]()

    class Reading(FaultyStorage):
        def read(self, path: str) -> bytes:
            reads.append(path)
            return super().read(path)

    assert read_rows(Reading(whole, Faults())) == rows
    assert not [each for each in reads if "archive" in each]
    torn = path.replace(".log.1_", ".log.2_")
    whole.put(torn, whole.files[path][:70])
    assert read_rows(Reading(whole, Faults())) == rows
    assert [each for each in reads if "archive" in each]
