"""Tables whose committed files are damaged in every way that their commits can tell."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from pyhudi.actions.commit import CommitMetadata
from pyhudi.logfile.framing import PREFIX_BYTES, HeaderKey
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.table.table import load_table
from tests.support.crashes import World
from tests.support.golden_memory import golden_in_memory
from tests.support.in_process import (
    NOW_MS,
    Rows,
    clock_at,
    compaction,
    options_of,
    write,
)
from tests.support.memory import MemoryStorage

_FLIPS = (0x01, 0x80)
_GOLDEN = (
    *("v6_cow_archived", "v6_cow_basic", "v6_cow_clean", "v6_cow_overwrite", "v6_mor_bucket"),
    *("v6_mor_cdc", "v6_mor_compacted", "v6_mor_hfile_logs", "v6_mor_inflight_after"),
    *("v6_mor_log_compacted", "v6_mor_logs_avro", "v6_mor_logs_parquet", "v6_mor_overwrite"),
    *("v6_mor_pending_compaction", "v6_mor_rollback", "v9_as_v6_mor"),
)
FIRST: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
SECOND: Rows = {("x", "b"): (2, "new")}
THIRD: Rows = {("x", "a"): (3, "new"), ("y", "c"): (3, "new")}


@dataclass(frozen=True)
class Damaged:
    """What a damage leaves of a file: other bytes, or nothing; ``what`` it was."""

    path: str
    what: str
    data: bytes | None

    def in_storage(self, whole: MemoryStorage) -> MemoryStorage:
        """The table with this damage."""
        storage = whole.copy()
        if self.data is None:
            storage.delete(self.path)
        else:
            storage.put(self.path, self.data)
        return storage


def tables() -> Mapping[str, Callable[[], MemoryStorage]]:
    """Tables of ours and of Hudi's, by what they are."""
    made = {
        f"{kind.lower()}, {index}{note}": partial(_written, kind, index, step)
        for kind, index, step, note in (
            ("COPY_ON_WRITE", "SIMPLE", "", ""),
            ("MERGE_ON_READ", "SIMPLE", "", ""),
            ("MERGE_ON_READ", "BUCKET", "", ""),
            ("MERGE_ON_READ", "SIMPLE", "schedule", ", compaction planned"),
            ("MERGE_ON_READ", "SIMPLE", "execute", ", compacted"),
        )
    }
    return {**made, **{name: partial(golden_in_memory, name) for name in _GOLDEN}}


def _written(table_type: str, index: str, step: str) -> MemoryStorage:
    storage, clock, options = World().table, clock_at(NOW_MS), options_of(table_type, index)
    for rows in (FIRST, SECOND):
        write(storage, rows, clock, options=options)
    if step:
        service = compaction(storage, clock)
        planned = service.schedule().instant
        assert planned
        if step == "execute":
            service.execute(planned)
    write(storage, THIRD, clock, options=options)
    return storage


def damages_of(storage: MemoryStorage) -> list[Damaged]:
    """The damages to files that readers need, and that the active timeline knows of."""
    table = load_table(storage)
    known = _known(storage)
    found: list[Damaged] = []
    for each in table.latest_slices():
        files = (each.base_file, *each.log_files)
        for path in (file.path for file in files if file is not None and file.path in known):
            found += _damages(path, storage.files[path])
    return found


def _known(storage: MemoryStorage) -> set[str | None]:
    """The files that the statistics of completed writes name."""
    ends = (".commit", ".deltacommit", ".replacecommit")
    bodies = [data for path, data in storage.files.items() if path.endswith(ends) and data]
    commits = [CommitMetadata.from_bytes(data) for data in bodies]
    return {stat.path for commit in commits for stat in commit.write_stats}


def _damages(path: str, data: bytes) -> Iterator[Damaged]:
    yield Damaged(path, "gone", None)
    for length in {0, 1, len(data) // 3, len(data) // 2, len(data) - 8, len(data) - 1}:
        yield Damaged(path, f"cut to {length} bytes", data[:length])
    if ".log." in path:
        for block in iter_blocks(pa.BufferReader(data), path):
            yield Damaged(path, "a block lost", data[: block.offset] + data[_end(block) :])
            for at in _frame(block, data):
                for mask in _FLIPS:
                    flipped = bytes([data[at] ^ mask])
                    yield Damaged(path, f"byte {at} flipped", data[:at] + flipped + data[at + 1 :])


def _frame(block: Block, data: bytes) -> list[int]:
    """The bytes of a block that say where it lies, of what kind it is, and of which write."""
    start = block.offset
    instant = data.index(block.header[HeaderKey.INSTANT_TIME].encode(), start)
    return [
        *range(start, start + PREFIX_BYTES + 12),
        *range(instant - 8, instant + len(block.instant)),
        *range(block.content_offset - 8, block.content_offset),
        *range(block.content_offset + block.content_bytes, _end(block)),
    ]


def _end(block: Block) -> int:
    return block.offset + block.size_bytes
