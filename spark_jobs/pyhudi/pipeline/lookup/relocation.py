"""Records of a global index whose partition has changed: merged before file groups are chosen.

A match in a file of another partition means a move. All rows that match such a file meet in one
task, which says what stays with the file, which keys leave it, and what is to be inserted
elsewhere. Keys that are stored nowhere but come with several partitions meet by their hash; they
are matches in *groups*, which are numbered after the files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.moves import RelocationContext, relocate_new, relocate_stored
from pyhudi.keys.key_hash import key_hash
from pyhudi.pipeline.batch.matches import MATCH_SCHEMA, gather, map_pieces, positions_of
from pyhudi.pipeline.batch.pieces import (
    KEY_SCHEMA,
    buffers,
    from_bytes,
    one_by_one,
    one_row,
    sliced,
    to_bytes,
)
from pyhudi.pipeline.batch.staging import StagedBatch, split_by, split_by_path
from pyhudi.pipeline.lookup.tagging import TaggedBatch
from pyhudi.runner.runner import SHUFFLE_KEY, Runner, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import PARTITION_PATH

ShuffleKeys: TypeAlias = npt.NDArray[np.int32]

NO_FILE = -1
_MEETING_ROWS = 500_000
# Relocated pieces come after those of the source, whose numbers have the task above bit 32.
_FIRST_PIECE = 1 << 60
_TASK_SHIFT = 32

_KEYS_SCHEMA = pa.schema(
    [
        pa.field(SHUFFLE_KEY, pa.int32()),
        pa.field("group", pa.int32()),
        pa.field("piece_id", pa.int64()),
        pa.field("partition_path", pa.string()),
        pa.field("keys", pa.binary()),
        pa.field("positions", pa.binary()),
    ]
)
_ROWS_SCHEMA = pa.schema(
    [
        pa.field(SHUFFLE_KEY, pa.int32()),
        pa.field("group", pa.int32()),
        pa.field("piece_id", pa.int64()),
        pa.field("partition_path", pa.string()),
        pa.field("rows", pa.binary()),
    ]
)
RELOCATED_SCHEMA = pa.schema(
    [
        pa.field("piece_id", pa.int64()),
        pa.field("file", pa.int32()),
        pa.field("partition_path", pa.string()),
        pa.field("count_rows", pa.int64()),
        pa.field("rows", pa.binary()),
        pa.field("moved_keys", pa.binary()),
        pa.field("ignored", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocatedBatch:
    """The rows that were relocated, in pieces of their own, which are held.

    ``files`` are the numbers in matches whose rows are among them. A piece has ``rows`` for a file,
    ``moved_keys`` that leave it, or rows to insert into a partition, when its file is ``NO_FILE``.
    ``inserts`` counts rows by partition path, ``updates`` rows and moved keys by file number,
    ``ignored`` rows that are older than the stored ones; a piece that says so has nothing else.

    Shapes: ``rows`` as ``RELOCATED_SCHEMA``.
    """

    rows: SpreadRows
    files: frozenset[int]
    inserts: Mapping[str, int]
    updates: Mapping[int, int]
    ignored: int = 0

    def release(self) -> None:
        """Drop the relocated rows."""
        self.rows.release()


def with_contested(runner: Runner, staged: StagedBatch, tagged: TaggedBatch) -> TaggedBatch:
    """The tagged batch with matches, in groups, of keys that come with several partitions."""
    if len(staged.partitions) < 2:
        return tagged
    count = max(runner.parallelism, -(-staged.count_rows // _MEETING_ROWS))
    keys = staged.rows.select("piece_id", "partition_path", "keys")
    spread = keys.map(_spread_keys(runner.shuffle_keys(count)), _KEYS_SCHEMA).exchange(count)
    matches = gather(spread.map(_contest(len(tagged.files)), MATCH_SCHEMA), staged.count_rows)
    if not matches.counts:
        matches.release()
        return tagged
    groups = frozenset(match.file for match in matches.counts)
    return replace(tagged, matches=tagged.matches.joined(matches), groups=groups)


def relocate(
    runner: Runner,
    staged: StagedBatch,
    tagged: TaggedBatch,
    context: RelocationContext,
    *,
    schema: pa.Schema,
    moves: bool,
) -> RelocatedBatch | None:
    """Relocate the rows of all groups, and with ``moves`` of files that other partitions match.

    None when there are none of either.

    Shapes: ``schema`` is that of the staged rows.
    """
    numbers = sorted({*(tagged.foreign if moves else ()), *tagged.groups})
    if not numbers:
        return None
    files = dict(enumerate(tagged.files))
    bases = tuple(files.get(number) for number in numbers)
    tasks = {number: task for task, number in enumerate(numbers)}
    send = _send(tasks, runner.shuffle_keys(len(numbers)), schema, len(files))
    delivered = map_pieces(staged, tagged.matches, send, _ROWS_SCHEMA).exchange(len(numbers))
    rows = delivered.map(_relocate(context, numbers, bases, schema), RELOCATED_SCHEMA).hold()
    inserts: dict[str, int] = defaultdict(int)
    updates: dict[int, int] = defaultdict(int)
    ignored = 0
    for row in rows.collect("file", "partition_path", "count_rows", "ignored"):
        ignored += row.ignored
        if not row.count_rows:
            continue
        if row.file == NO_FILE:
            inserts[row.partition_path] += row.count_rows
        else:
            updates[row.file] += row.count_rows
    return RelocatedBatch(
        rows=rows,
        files=frozenset(numbers),
        inserts=inserts,
        updates=updates,
        ignored=ignored,
    )


def _spread_keys(shuffle_keys: ShuffleKeys) -> TaskFunction:
    count = np.uint64(len(shuffle_keys))

    def spread(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, data in enumerate(buffers(batch.column("keys"))):
                keys = from_bytes(data, KEY_SCHEMA)
                groups = (key_hash(keys.column(0)) % count).astype(np.int64)
                for group, positions in split_by(groups):
                    values = [
                        shuffle_keys[group],
                        group,
                        batch.column("piece_id")[number].as_py(),
                        batch.column("partition_path")[number].as_py(),
                        to_bytes(keys.take(pa.array(positions))),
                        positions.astype(np.int32).tobytes(),
                    ]
                    yield one_row(values, _KEYS_SCHEMA)

    return spread


def _contest(first_group: int) -> TaskFunction:
    def contest(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if not found:
            return
        arrived = pa.Table.from_batches(found)
        parts = [from_bytes(data, KEY_SCHEMA).column(0) for data in _values(arrived, "keys")]
        is_contested = _contested(parts, pc.dictionary_encode(arrived.column("partition_path")))
        group = first_group + arrived.column("group")[0].as_py()
        pieces = arrived.column("piece_id").to_pylist()
        rows = [positions_of(data) for data in _values(arrived, "positions")]
        start = 0
        for piece, positions in zip(pieces, rows, strict=True):
            chosen = positions[is_contested[start : start + len(positions)]]
            start += len(positions)
            if len(chosen):
                yield one_row([piece, group, len(chosen), chosen.tobytes(), b""], MATCH_SCHEMA)

    return contest


def _contested(parts: Sequence[pa.Array], paths: pa.ChunkedArray) -> np.ndarray:
    """Whether each key comes with several partition paths; the paths are one a part."""
    coded = pc.dictionary_encode(pa.concat_arrays(parts))
    keys = coded.indices.to_numpy()
    path_codes = paths.combine_chunks().indices.to_numpy()
    path_of_row = np.repeat(path_codes, [len(part) for part in parts])
    any_path = np.zeros(len(coded.dictionary), dtype=path_of_row.dtype)
    any_path[keys] = path_of_row
    is_contested = np.zeros(len(coded.dictionary), dtype=bool)
    is_contested[keys[path_of_row != any_path[keys]]] = True
    found: np.ndarray = is_contested[keys]
    return found


def _send(
    tasks: Mapping[int, int], shuffle_keys: ShuffleKeys, schema: pa.Schema, count_files: int
) -> TaskFunction:
    def send(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in one_by_one(batches):
            rows = from_bytes(buffers(piece.column("rows"))[0], schema)
            for file, positions in _to_relocate(piece, rows.num_rows, tasks, count_files):
                values = [
                    shuffle_keys[tasks[file]],
                    tasks[file],
                    piece.column("piece_id")[0].as_py(),
                    piece.column("partition_path")[0].as_py(),
                    to_bytes(rows.take(pa.array(positions))),
                ]
                yield one_row(values, _ROWS_SCHEMA)

    return send


def _to_relocate(
    piece: pa.RecordBatch, count_rows: int, tasks: Mapping[int, int], count_files: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of a piece that go to each task; those of stored keys to no group."""
    files = piece.column("files")[0].as_py() or []
    positions = [positions_of(data) for data in piece.column("positions")[0].as_py() or []]
    is_stored = np.zeros(count_rows, dtype=bool)
    for file, found in zip(files, positions, strict=True):
        if file < count_files:
            is_stored[found] = True
    for file, found in zip(files, positions, strict=True):
        chosen = found if file < count_files else found[~is_stored[found]]
        if file in tasks and len(chosen):
            yield file, chosen


def _relocate(
    context: RelocationContext,
    numbers: Sequence[int],
    bases: Sequence[BaseFile | None],
    schema: pa.Schema,
) -> TaskFunction:
    def relocate_group(
        _: TaskIdentity, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        arrived: list[tuple[int, str, pa.RecordBatch]] = []
        task = None
        for batch in batches:
            ids, paths = batch.column("piece_id"), batch.column("partition_path")
            parts = [from_bytes(data, schema) for data in buffers(batch.column("rows"))]
            arrived.extend(zip(ids.to_pylist(), paths.to_pylist(), parts, strict=True))
            task = batch.column("group")[0].as_py()
        if task is None:
            return
        # The shuffle mixes the pieces; ties between equal ordering values go by arrival.
        arrived.sort(key=lambda part: part[0])
        rows = pa.concat_tables(_with_path(part, path) for _, path, part in arrived)
        arrived.clear()
        pieces = _outcome(context, numbers[task], bases[task], rows)
        first = _FIRST_PIECE + (task << _TASK_SHIFT)
        for number, piece in enumerate(pieces):
            yield one_row([first + number, *piece], RELOCATED_SCHEMA)

    return relocate_group


def _outcome(
    context: RelocationContext, number: int, base: BaseFile | None, rows: pa.Table
) -> Iterator[tuple[object, ...]]:
    """The pieces of one group, as ``RELOCATED_SCHEMA`` without their numbers."""
    if base is None:
        inserts = relocate_new(context, rows)
    else:
        relocated = relocate_stored(context, base, rows)
        inserts, moved = relocated.inserts, relocated.moved_keys
        if relocated.ignored:
            yield number, base.partition, 0, None, None, relocated.ignored
        if len(moved):
            keys = to_bytes(pa.record_batch([moved], schema=KEY_SCHEMA))
            yield number, base.partition, len(moved), None, keys, 0
        for part in sliced(relocated.updates):
            yield number, base.partition, part.num_rows, to_bytes(part), None, 0
    if inserts.num_rows:
        paths = inserts.column(PARTITION_PATH).combine_chunks()
        for path, part in split_by_path(inserts.drop_columns([PARTITION_PATH]), paths):
            for piece in sliced(part):
                yield NO_FILE, path, piece.num_rows, to_bytes(piece), None, 0


def _with_path(rows: pa.RecordBatch, path: str) -> pa.Table:
    table = pa.Table.from_batches([rows])
    return table.append_column(PARTITION_PATH, pa.array([path] * rows.num_rows, pa.string()))


def _values(table: pa.Table, name: str) -> list[pa.Buffer]:
    return [value for chunk in table.column(name).chunks for value in buffers(chunk)]
