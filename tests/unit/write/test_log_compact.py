"""The log blocks of slices become one: the blocks, rows and statistics of Hudi's log compaction."""

from __future__ import annotations

import json

import pyarrow as pa

from pyhudi.logfile.contents import iter_rows
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.timeline.clock import FakeClock
from tests.support.memory import MemoryStorage
from tests.support.plain_compaction import (
    NOW_MS,
    golden_in_memory,
)
from tests.support.plain_log_compaction import execute_logs

TABLE = "v6_mor_log_compacted"
PLANNED = "20261121111037067"
LATER = "20261121111037767"
# What two writers of the same blocks may have different.
OWN = ("path", "totalWriteBytes", "fileSizeInBytes", "runtimeStats", "logFiles", "recordsStats")


def clock() -> FakeClock:
    return FakeClock(NOW_MS, step_ms=1)


def before_log_compaction() -> MemoryStorage:
    """The table as it was once Hudi had planned its log compaction."""
    storage = golden_in_memory(TABLE)
    for path in list(storage.files):
        is_planned = path.endswith(f"{PLANNED}.logcompaction.requested")
        is_later = path.startswith((f".hoodie/{PLANNED}", f".hoodie/{LATER}"))
        if (is_later and not is_planned) or ".log.5_" in path or ".log.6_" in path:
            storage.delete(path)
    return storage


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


def test_a_plan_of_hudi_comes_to_what_hudi_made_of_it() -> None:
    storage, done = before_log_compaction(), golden_in_memory(TABLE)
    execute_logs(storage, clock(), PLANNED)
    assert rows_of(storage, PLANNED) == rows_of(done, PLANNED)
    ours, theirs = (
        [(group, block.kind, block.header) for group, block, _ in blocks_of(each, PLANNED)]
        for each in (storage, done)
    )
    assert ours == theirs
    assert counts_of(storage, PLANNED) == counts_of(done, PLANNED)


def counts_of(storage: MemoryStorage, instant: str) -> list[dict]:
    commit = json.loads(storage.files[f".hoodie/{instant}.deltacommit"])
    assert (commit["compacted"], commit["operationType"]) == (True, "LOG_COMPACT")
    stats = [each for found in commit["partitionToWriteStats"].values() for each in found]
    plain = [{key: value for key, value in each.items() if key not in OWN} for each in stats]
    return sorted(plain, key=lambda each: each["fileId"])
