"""The log blocks of slices become one: the blocks, rows and statistics of Hudi's log compaction."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pyhudi.config.options.merging import PARTIAL_UPDATE_PAYLOAD
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.logfile.contents import iter_rows, read_deletes
from pyhudi.logfile.deletes.blocks import OrderingKind, encode_deletes
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.services.recovery import recover
from pyhudi.storage.schemes import open_storage
from pyhudi.table.table import load_table
from tests.support.clocks import FakeClock
from tests.support.golden_memory import (
    LOGGED,
    NOW_MS,
    before_log_compaction,
    clock_at,
    compact,
    delete_key,
    delta_commit,
    execute,
    golden_in_memory,
    plan,
    read_texts,
    values,
)
from tests.support.golden_memory import LOGS_PLANNED as PLANNED
from tests.support.golden_memory import LOGS_TABLE as TABLE
from tests.support.in_process import run_pending, writer_on
from tests.support.log_files import avro_block, deletes, rollback_block
from tests.support.memory import MemoryStorage
from tests.support.mor_history import History
from tests.support.mor_table import COMMIT_TIME, EVENT_TIME, SCHEMA, MorTable, moment, records
from tests.unit.read.test_rows import rows_of as rows_in

# What two writers of the same blocks may have different.
OWN = ("path", "totalWriteBytes", "fileSizeInBytes", "runtimeStats", "logFiles", "recordsStats")


def blocks_of(storage: MemoryStorage, instant: str) -> list[tuple[str, Block, pa.BufferReader]]:
    """The blocks of a write, with the file groups that they are of."""
    found = []
    for path in sorted(storage.files):
        if ".log." in path and not path.startswith(".hoodie"):
            source = pa.BufferReader(storage.files[path])
            group = path.rpartition("/")[2].partition("_")[0]
            found += [(group, b, source) for b in iter_blocks(source, path) if b.instant == instant]
    return found


def rows_of(storage: MemoryStorage, instant: str) -> list[str]:
    """The rows that a write left in log files, as texts."""
    return sorted(
        json.dumps([group, row], default=str, sort_keys=True)
        for group, block, source in blocks_of(storage, instant)
        if block.kind is not BlockKind.DELETE
        for rows in iter_rows(block, source)
        for row in rows.to_pylist()
    )


def counts_of(storage: MemoryStorage, instant: str) -> list[dict[str, Any]]:
    commit = json.loads(storage.files[f".hoodie/{instant}.deltacommit"])
    assert (commit["compacted"], commit["operationType"]) == (True, "LOG_COMPACT")
    stats = [each for found in commit["partitionToWriteStats"].values() for each in found]
    plain = [{key: value for key, value in each.items() if key not in OWN} for each in stats]
    return sorted(plain, key=lambda each: each["fileId"])


def test_a_plan_of_hudi_comes_to_what_hudi_made_of_it() -> None:
    storage, done = before_log_compaction(), golden_in_memory(TABLE)
    execute(storage, clock_at(), PLANNED, LOG_COMPACTION_KIND)
    assert rows_of(storage, PLANNED) == rows_of(done, PLANNED)
    ours, theirs = (
        [(group, block.kind, block.header) for group, block, _ in blocks_of(each, PLANNED)]
        for each in (storage, done)
    )
    assert ours == theirs
    assert counts_of(storage, PLANNED) == counts_of(done, PLANNED)


@pytest.mark.parametrize("name", [*LOGGED, "v6_mor_pending_compaction"])
def test_a_log_compaction_changes_no_row_at_any_instant(name: str) -> None:
    storage, ticks = golden_in_memory(name), clock_at()
    recover(writer_on(storage, ticks))
    run_pending(storage, ticks, COMPACTION_KIND)
    instants = [each.time for each in load_table(storage).timeline.write_instants()][-3:]
    before = {at: read_texts(storage, as_of=at) for at in instants}
    rows = read_texts(storage)
    often = {"hoodie__log__compaction__blocks__threshold": "1"}
    done = compact(storage, ticks, LOG_COMPACTION_KIND, **often)
    assert done.files["appended"]
    assert read_texts(storage) == rows
    assert read_texts(storage, as_of=done.instant or "") == rows
    assert {at: read_texts(storage, as_of=at) for at in instants} == before
    compact(storage, ticks)
    assert values(read_texts(storage)) == values(rows)


def made(path: Path, *blocks: bytes) -> MemoryStorage:
    """A table with two rows, whose log has these blocks of the writes 2, 3 ..."""
    table = MorTable.make(path)
    table.base("f", "1", records("1", ("k1", 10, "base"), ("k2", 10, "base")))
    table.instant("1")
    for number, block in enumerate(blocks, 2):
        table.log("f", "1", block, version=number - 1)
        table.instant(str(number))
    return MemoryStorage.of(path, NOW_MS)


def row_block(time: str, *rows: tuple[str, int | None, str | None]) -> bytes:
    return avro_block(moment(time), records(time, *rows), SCHEMA)


def ordered_delete(time: str, *deleted: tuple[str, OrderingKind, int]) -> bytes:
    content = encode_deletes(deletes(*deleted))
    header = {HeaderKey.INSTANT_TIME: moment(time), HeaderKey.SCHEMA: json.dumps(SCHEMA)}
    return encode_block(BlockKind.DELETE, header, content)


def compacted_logs(storage: MemoryStorage, ticks: FakeClock | None = None, **options: str) -> str:
    """Log compact what there is; the instant."""
    rows = read_texts(storage)
    done = compact(storage, ticks or clock_at(), LOG_COMPACTION_KIND, **options)
    assert read_texts(storage) == rows
    return done.instant or ""


def test_deletes_keep_the_ordering_values_that_they_came_with(tmp_path: Path) -> None:
    early = ordered_delete("2", ("k1", OrderingKind.LONG, 5), ("k2", OrderingKind.INT, 0))
    storage = made(tmp_path, early, row_block("3", ("k3", 1, "new")))
    assert len(read_texts(storage)) == 2, "the delete of k1 is older than what is stored"
    rows, gone = blocks_of(storage, compacted_logs(storage))
    assert (rows[1].kind, gone[1].kind) == (BlockKind.AVRO, BlockKind.DELETE)
    kept = read_deletes(gone[1], gone[2])
    kinds = dict(zip(kept.keys.to_pylist(), kept.kinds.tolist(), strict=True))
    assert kinds == {"k1": OrderingKind.LONG, "k2": OrderingKind.INT}
    for _, block, _ in (rows, gone):
        assert block.header[HeaderKey.COMPACTED_BLOCK_TIMES] == f"{moment('3')},{moment('2')}"


def test_rows_keep_their_meta_columns(tmp_path: Path) -> None:
    storage = made(tmp_path, row_block("2", ("k1", 20, "x")), row_block("3", ("k2", 20, "y")))
    found = compacted_logs(storage)
    times = [json.loads(row)[1]["_hoodie_commit_time"] for row in rows_of(storage, found)]
    names = {json.loads(row)[1]["_hoodie_file_name"] for row in rows_of(storage, found)}
    assert (times, names) == ([moment("2"), moment("3")], {"f"})


def test_one_compacted_block_goes_into_the_next(tmp_path: Path) -> None:
    storage = made(tmp_path, row_block("2", ("k1", 20, "x")), row_block("3", ("k1", 30, "y")))
    ticks = clock_at()
    first = compacted_logs(storage, ticks)
    assert plan(storage, ticks, LOG_COMPACTION_KIND) is None, "all blocks are of one write"
    delete_key(storage, "k2", "20270115080100000")
    delta_commit(storage, "20270115080100000")
    second = compacted_logs(storage, clock_at(NOW_MS + 3_600_000))
    (_, block, _), _ = blocks_of(storage, second)
    assert block.header[HeaderKey.COMPACTED_BLOCK_TIMES] == f"20270115080100000,{first}"
    (stat,) = counts_of(storage, second)
    assert (stat["totalLogBlocks"], stat["totalLogFilesCompacted"]) == (4, 4)


def test_blocks_that_were_rolled_back_are_left_out(tmp_path: Path) -> None:
    storage = made(
        tmp_path,
        row_block("2", ("k1", 20, "x")),
        row_block("3", ("k1", 30, "y")),
        rollback_block(moment("4"), moment("3")),
        row_block("5", ("k2", 40, "z")),
    )
    ((_, block, _),) = blocks_of(storage, compacted_logs(storage))
    assert block.header[HeaderKey.COMPACTED_BLOCK_TIMES] == f"{moment('5')},{moment('2')}"


def test_records_past_their_memory_are_log_compacted_from_disk(tmp_path: Path, monkeypatch) -> None:
    blocks = [row_block(str(n), *((f"k{m}", n, "v" * n) for m in range(40))) for n in range(2, 6)]
    whole, spilled = made(tmp_path / "a", *blocks), made(tmp_path / "b", *blocks)
    instant = compacted_logs(whole)
    folder = {"hoodie__memory__spillable__map__path": str(tmp_path)}
    monkeypatch.setattr("pyhudi.write.files.log_compact.BATCH_ROWS", 7)
    small = compacted_logs(spilled, hoodie__memory__compaction__max__size="64", **folder)
    assert small == instant
    assert rows_of(spilled, instant) == rows_of(whole, instant)


@pytest.mark.parametrize("payload", [COMMIT_TIME, EVENT_TIME, PARTIAL_UPDATE_PAYLOAD])
@pytest.mark.parametrize("seed", range(6))
def test_any_history_reads_the_same_after_log_compactions(payload: str, seed: int, tmp_path: Path):
    """Writes, some of which fail, and log compactions in between; then a compaction."""
    history = History(random.Random(seed), payload, tmp_path / "t")
    storage = open_storage(str(tmp_path / "t"))
    for number, times in enumerate(("BCD", "EF", "GHIJ"), 1):
        for time in times:
            history.write(time)
        ticks = clock_at(NOW_MS + number * 1_000)
        if found := plan(storage, ticks, LOG_COMPACTION_KIND):
            done = execute(storage, ticks, found, LOG_COMPACTION_KIND)
            history.versions += done.files["appended"]
        assert rows_in(history.table) == history.model.read()
        for time, state in history.states.items():
            assert rows_in(history.table, as_of=moment(time)) == state
    if compaction := plan(storage, clock_at(NOW_MS + 9_000)):
        execute(storage, clock_at(NOW_MS + 10_000), compaction)
    assert rows_in(history.table) == history.model.read()
