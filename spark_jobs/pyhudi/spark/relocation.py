"""Records of a global index whose partition has changed, settled before file groups are chosen.

A hit in a file of another partition means a move. All rows that hit such a file meet in one task,
which says what stays with the file, what leaves it, and what is to be inserted elsewhere. Keys
that live nowhere but come with several partitions meet by their hash; their places are hits in
*groups*, which are numbered after the files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.moves import RelocationContext, relocate_new, relocate_stored
from pyhudi.keys.key_hash import key_hash
from pyhudi.keys.murmur import shuffle_keys
from pyhudi.schema.metafields import PARTITION_PATH
from pyhudi.spark.batch.arrow_map import BatchFunction, few_rows_a_batch, map_in_arrow
from pyhudi.spark.batch.matches import MATCH_SCHEMA, gather, map_pieces, positions_of
from pyhudi.spark.batch.pieces import (
    KEY_SCHEMA,
    buffers,
    from_bytes,
    one_by_one,
    one_row,
    sliced,
    to_bytes,
)
from pyhudi.spark.batch.staging import StagedBatch, split_by, split_by_path
from pyhudi.spark.tagging import TaggedBatch

NO_FILE = -1
_MEETING_ROWS = 500_000
# Relocation pieces come after those of the source, whose numbers have the task above bit 32.
_FIRST_PIECE = 1 << 60
_TASK_SHIFT = 32

_KEYS_SCHEMA = pa.schema(
    [
        pa.field("salt", pa.int32()),
        pa.field("group", pa.int32()),
        pa.field("piece_id", pa.int64()),
        pa.field("partition_path", pa.string()),
        pa.field("keys", pa.binary()),
        pa.field("positions", pa.binary()),
    ]
)
_ROWS_SCHEMA = pa.schema(
    [
        pa.field("salt", pa.int32()),
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
        pa.field("leaving", pa.binary()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelocatedBatch:
    """The rows that were settled, in pieces of their own, which Spark keeps.

    ``files`` are the numbers in hits whose rows are among them. A piece has ``rows`` for a file,
    keys that are ``leaving`` it, or rows to insert into a partition, when its file is ``NO_FILE``.
    ``inserts`` counts rows by partition path, ``updates`` rows and leaving keys by file number.
    """

    frame: DataFrame
    files: frozenset[int]
    inserts: Mapping[str, int]
    updates: Mapping[int, int]

    def release(self) -> None:
        """Let Spark drop the settled rows."""
        self.frame.unpersist()


def with_contested(staged: StagedBatch, tagged: TaggedBatch) -> TaggedBatch:
    """The tagged batch with further hits: of keys that come with several partitions, in groups."""
    if len(staged.partitions) < 2:
        return tagged
    cores = staged.frame.sparkSession.sparkContext.defaultParallelism
    count = max(cores, -(-staged.count_rows // _MEETING_ROWS))
    keys = staged.frame.select("piece_id", "partition_path", "keys")
    spread = map_in_arrow(keys, _spread_keys(count), _KEYS_SCHEMA).repartition(count, "salt")
    met = map_in_arrow(spread, _contest(len(tagged.files)), MATCH_SCHEMA)
    hits = gather(met, staged.count_rows)
    if not hits.counts:
        hits.release()
        return tagged
    groups = frozenset(hit.file for hit in hits.counts)
    return replace(tagged, hits=tagged.hits.joined(hits), groups=groups)


def settle(
    staged: StagedBatch,
    tagged: TaggedBatch,
    job: RelocationContext,
    schema: pa.Schema,
    *,
    moves: bool,
) -> RelocatedBatch | None:
    """Settle the rows of all groups, and with ``moves`` of the files that other partitions hit.

    None when there are none of either.

    Shapes: ``schema`` is that of the staged rows.
    """
    numbers = sorted({*(tagged.foreign if moves else ()), *tagged.groups})
    if not numbers:
        return None
    files = dict(enumerate(tagged.files))
    places = tuple(files.get(number) for number in numbers)
    tasks = {number: task for task, number in enumerate(numbers)}
    sent = map_pieces(staged, tagged.hits, _send(tasks, schema, len(files)), _ROWS_SCHEMA)
    delivered = sent.repartition(len(numbers), "salt")
    frame = map_in_arrow(delivered, _settle(job, numbers, places, schema), RELOCATED_SCHEMA)
    frame = frame.persist(StorageLevel.DISK_ONLY)
    inserts: dict[str, int] = defaultdict(int)
    updates: dict[int, int] = defaultdict(int)
    with few_rows_a_batch(frame.sparkSession):
        found = frame.select("file", "partition_path", "count_rows").collect()
    for row in found:
        if row.file == NO_FILE:
            inserts[row.partition_path] += row.count_rows
        else:
            updates[row.file] += row.count_rows
    return RelocatedBatch(frame=frame, files=frozenset(numbers), inserts=inserts, updates=updates)


def _spread_keys(count: int) -> BatchFunction:
    salts = shuffle_keys(count)

    def spread(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, data in enumerate(buffers(batch.column("keys"))):
                keys = from_bytes(data, KEY_SCHEMA)
                groups = (key_hash(keys.column(0)) % np.uint64(count)).astype(np.int64)
                for group, positions in split_by(groups):
                    values = [
                        salts[group],
                        group,
                        batch.column("piece_id")[number].as_py(),
                        batch.column("partition_path")[number].as_py(),
                        to_bytes(keys.take(pa.array(positions))),
                        positions.astype(np.int32).tobytes(),
                    ]
                    yield one_row(values, _KEYS_SCHEMA)

    return spread


def _contest(first_group: int) -> BatchFunction:
    def contest(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if not found:
            return
        arrived = pa.Table.from_batches(found)
        parts = [from_bytes(data, KEY_SCHEMA).column(0) for data in _values(arrived, "keys")]
        is_contested = _contested(parts, pc.dictionary_encode(arrived.column("partition_path")))
        group = first_group + arrived.column("group")[0].as_py()
        pieces = arrived.column("piece_id").to_pylist()
        places = [positions_of(data) for data in _values(arrived, "positions")]
        start = 0
        for piece, positions in zip(pieces, places, strict=True):
            chosen = positions[is_contested[start : start + len(positions)]]
            start += len(positions)
            if len(chosen):
                yield one_row([piece, group, len(chosen), chosen.tobytes()], MATCH_SCHEMA)

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


def _send(tasks: Mapping[int, int], schema: pa.Schema, count_files: int) -> BatchFunction:
    salts = shuffle_keys(len(tasks))

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for piece in one_by_one(batches):
            rows = from_bytes(buffers(piece.column("rows"))[0], schema)
            for file, positions in _places(piece, rows.num_rows, tasks, count_files):
                values = [
                    salts[tasks[file]],
                    tasks[file],
                    piece.column("piece_id")[0].as_py(),
                    piece.column("partition_path")[0].as_py(),
                    to_bytes(rows.take(pa.array(positions))),
                ]
                yield one_row(values, _ROWS_SCHEMA)

    return send


def _places(
    piece: pa.RecordBatch, count_rows: int, tasks: Mapping[int, int], count_files: int
) -> Iterator[tuple[int, np.ndarray]]:
    """The rows of a piece that go to each task; those of keys that live somewhere to no group."""
    files = piece.column("files")[0].as_py() or []
    positions = [positions_of(data) for data in piece.column("positions")[0].as_py() or []]
    lives = np.zeros(count_rows, dtype=bool)
    for file, found in zip(files, positions, strict=True):
        if file < count_files:
            lives[found] = True
    for file, found in zip(files, positions, strict=True):
        chosen = found if file < count_files else found[~lives[found]]
        if file in tasks and len(chosen):
            yield file, chosen


def _settle(
    job: RelocationContext,
    numbers: Sequence[int],
    places: Sequence[BaseFile | None],
    schema: pa.Schema,
) -> BatchFunction:
    def settle_group(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
        pieces = _outcome(job, numbers[task], places[task], rows)
        first = _FIRST_PIECE + (task << _TASK_SHIFT)
        for number, (file, path, part, leaving) in enumerate(pieces):
            count = len(leaving) if part is None else part.num_rows
            data = None if part is None else to_bytes(part)
            gone = to_bytes(pa.record_batch([leaving], schema=KEY_SCHEMA)) if part is None else None
            yield one_row([first + number, file, path, count, data, gone], RELOCATED_SCHEMA)

    return settle_group


def _outcome(
    job: RelocationContext, number: int, file: BaseFile | None, rows: pa.Table
) -> Iterator[tuple[int, str, pa.Table | None, pa.Array]]:
    nothing = pa.array([], pa.string())
    if file is None:
        inserts = relocate_new(job, rows)
    else:
        settled = relocate_stored(job, file, rows)
        inserts = settled.inserts
        if len(settled.leaving):
            yield number, file.partition, None, settled.leaving
        for part in sliced(settled.updates):
            yield number, file.partition, part, nothing
    if inserts.num_rows:
        paths = inserts.column(PARTITION_PATH).combine_chunks()
        for path, part in split_by_path(inserts.drop_columns([PARTITION_PATH]), paths):
            for piece in sliced(part):
                yield NO_FILE, path, piece, nothing


def _with_path(rows: pa.RecordBatch, path: str) -> pa.Table:
    table = pa.Table.from_batches([rows])
    return table.append_column(PARTITION_PATH, pa.array([path] * rows.num_rows, pa.string()))


def _values(table: pa.Table, name: str) -> list[pa.Buffer]:
    return [value for chunk in table.column(name).chunks for value in buffers(chunk)]
