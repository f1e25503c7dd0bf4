"""The index lookup, spread over tasks.

Each task holds the keys of at most a million incoming rows and reads the key column, or first the
bloom filter, of some base files, so nothing holds a whole partition or batch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.simple import CHUNK_ROWS, KeyLookup, KeyMatch, KeyPiece, Sought, find_keys
from pyhudi.pipeline.batch.matches import MATCH_SCHEMA, NO_MATCHES, KeyMatches, gather
from pyhudi.pipeline.batch.pieces import KEY_SCHEMA, buffers, from_bytes, record_batch
from pyhudi.pipeline.batch.staging import PieceInfo, StagedBatch
from pyhudi.runner.runner import SHUFFLE_KEY, Runner, SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.storage.storage import Storage
from pyhudi.write.plan.sharing import share_tasks

_TASK_BYTES = 64 << 20
_LEAST_TASK_BYTES = 8 << 20

_DELIVERED_SCHEMA = pa.schema(
    [
        pa.field("piece_id", pa.int64()),
        pa.field("min_key", pa.string()),
        pa.field("max_key", pa.string()),
        pa.field("keys", pa.binary()),
        pa.field("task", pa.int32()),
        pa.field(SHUFFLE_KEY, pa.int32()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Base files, by number, in which some pieces' keys are looked for.

    Both are of one partition, unless keys are looked for in the whole table.
    """

    files: tuple[int, ...]
    pieces: tuple[int, ...]


LookupTask = tuple[Search, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedBatch:
    """Where the keys of a batch are stored.

    ``matches`` says which pieces share keys with which base files, ``files`` are these by number.
    ``foreign`` are the files whose keys come with other partitions than theirs. ``groups`` are
    numbers in the matches that are no files: of rows that must meet before they are inserted.
    """

    files: tuple[BaseFile, ...]
    matches: KeyMatches = NO_MATCHES
    foreign: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()

    def updates(self) -> Mapping[int, int]:
        """Rows by the number of the file in which their key lives."""
        found: Counter[int] = Counter()
        for match in self.matches.counts:
            if match.file not in self.groups:
                found[match.file] += match.count_rows
        return found

    def matched_rows(self) -> Mapping[int, int]:
        """Matched rows by piece, each once for every file or group that it matches."""
        found: Counter[int] = Counter()
        for match in self.matches.counts:
            found[match.piece] += match.count_rows
        return found

    def matched_files(self) -> Mapping[int, int]:
        """Matched files and groups by piece."""
        return Counter(match.piece for match in self.matches.counts)


def plan_lookup(
    pieces: Sequence[PieceInfo],
    files: Sequence[BaseFile],
    *,
    parallelism: int,
    is_global: bool = False,
) -> tuple[LookupTask, ...]:
    """Which task looks for which pieces in which files. Pure.

    Keys go to every task of their partition, or of the table when ``is_global``, so files are
    bundled; a bundle is small enough to give every core work. Partitions of small files share a
    task as long as its keys are few.
    """
    if is_global:
        pieces = [replace(piece, partition_path="") for piece in pieces]
    by_partition: dict[str, list[int]] = defaultdict(list)
    for number, file in enumerate(files):
        by_partition["" if is_global else file.partition].append(number)
    chunks = _chunks(pieces)
    read = sum(files[n].size_bytes for path in chunks for n in by_partition.get(path, ()))
    target = min(_TASK_BYTES, max(_LEAST_TASK_BYTES, read // (parallelism * 2)))
    searches = [
        Search(files=bundle, pieces=chunk)
        for partition, numbers in by_partition.items()
        for bundle in _bundles(numbers, files, target)
        for chunk in chunks.get(partition, ())
    ]
    rows = {piece.piece_id: piece.count_rows for piece in pieces}
    sizes = [
        (sum(files[n].size_bytes for n in s.files), sum(rows[p] for p in s.pieces))
        for s in searches
    ]
    together = share_tasks(sizes, bounds=(target, CHUNK_ROWS))
    return tuple(tuple(searches[n] for n in numbers) for numbers in together)


def tag(
    runner: Runner,
    staged: StagedBatch,
    files: Sequence[BaseFile],
    storage: Storage,
    lookup: KeyLookup,
    *,
    is_global: bool = False,
) -> TaggedBatch:
    """Look every key of the batch up in the latest base files of its partition.

    With ``is_global`` it is looked up in all the files.
    """
    tasks = plan_lookup(staged.pieces, files, parallelism=runner.parallelism, is_global=is_global)
    if not tasks:
        return untagged(files)
    look = _lookup(tuple(files), tasks, storage, lookup)
    searched = _deliver(runner, staged, tasks).map(look, MATCH_SCHEMA)
    matches = gather(searched, staged.count_rows)
    paths = {piece.piece_id: piece.partition_path for piece in staged.pieces}
    return TaggedBatch(
        matches=matches,
        files=tuple(files),
        foreign=frozenset(
            match.file
            for match in matches.counts
            if files[match.file].partition != paths[match.piece]
        ),
    )


def untagged(files: Sequence[BaseFile]) -> TaggedBatch:
    """The answer without looking: no key lives anywhere, as for inserts."""
    return TaggedBatch(files=tuple(files))


def _deliver(runner: Runner, staged: StagedBatch, tasks: Sequence[LookupTask]) -> SpreadRows:
    """The keys of each piece once for every task that asks for it, in that task."""
    shuffle_keys = runner.shuffle_keys(len(tasks)).tolist()
    wanted: dict[int, list[int]] = defaultdict(list)
    for number, task in enumerate(tasks):
        for piece in sorted({piece for search in task for piece in search.pieces}):
            wanted[piece].append(number)

    def deliver(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row, piece in enumerate(batch.column("piece_id").to_pylist()):
                values = batch.slice(row, 1).columns
                for number in wanted.get(piece, ()):
                    added = [pa.array([n], pa.int32()) for n in (number, shuffle_keys[number])]
                    yield record_batch([*values, *added], _DELIVERED_SCHEMA)

    keys = staged.rows.select("piece_id", "min_key", "max_key", "keys")
    return keys.map(deliver, _DELIVERED_SCHEMA).exchange(len(tasks))


def _lookup(
    files: tuple[BaseFile, ...],
    tasks: tuple[LookupTask, ...],
    storage: Storage,
    lookup: KeyLookup,
) -> TaskFunction:
    def look(_: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pieces: dict[int, KeyPiece] = {}
        number = None
        for batch in batches:
            pieces.update((piece.piece_id, piece) for piece in _key_pieces(batch))
            number = batch.column("task")[0].as_py()
        if number is None:
            return
        for search in tasks[number]:
            sought = Sought([pieces[piece] for piece in sorted(search.pieces)])
            for file in search.files:
                matches = list(find_keys(storage, files[file], sought, lookup))
                if matches:
                    yield _match_batch(file, matches)

    return look


def _key_pieces(batch: pa.RecordBatch) -> Iterator[KeyPiece]:
    ids = batch.column("piece_id").to_pylist()
    lows, highs = batch.column("min_key").to_pylist(), batch.column("max_key").to_pylist()
    for piece_id, low, high, data in zip(
        ids, lows, highs, buffers(batch.column("keys")), strict=True
    ):
        keys = from_bytes(data, KEY_SCHEMA).column(0)
        yield KeyPiece(piece_id=piece_id, keys=keys, min_key=low, max_key=high)


def _match_batch(file: int, matches: Sequence[KeyMatch]) -> pa.RecordBatch:
    return record_batch(
        [
            pa.array([match.piece_id for match in matches], pa.int64()),
            pa.array([file] * len(matches), pa.int32()),
            pa.array([len(match.positions) for match in matches], pa.int64()),
            pa.array([match.positions.tobytes() for match in matches], pa.binary()),
            pa.array([match.stored_rows.tobytes() for match in matches], pa.binary()),
        ],
        MATCH_SCHEMA,
    )


def _chunks(pieces: Sequence[PieceInfo]) -> dict[str, list[tuple[int, ...]]]:
    """Per partition the pieces in groups of at most ``CHUNK_ROWS`` rows."""
    groups: dict[str, list[list[int]]] = defaultdict(list)
    sizes: dict[str, int] = {}
    for piece in sorted(pieces, key=lambda piece: piece.piece_id):
        partition = piece.partition_path
        size = sizes.get(partition, CHUNK_ROWS)
        if size + piece.count_rows > CHUNK_ROWS:
            groups[partition].append([])
            size = 0
        groups[partition][-1].append(piece.piece_id)
        sizes[partition] = size + piece.count_rows
    return {partition: [tuple(group) for group in found] for partition, found in groups.items()}


def _bundles(
    numbers: Sequence[int], files: Sequence[BaseFile], target_bytes: int
) -> Iterator[tuple[int, ...]]:
    bundle: list[int] = []
    size = 0
    for number in numbers:
        if bundle and size + files[number].size_bytes > target_bytes:
            yield tuple(bundle)
            bundle, size = [], 0
        bundle.append(number)
        size += files[number].size_bytes
    if bundle:
        yield tuple(bundle)
