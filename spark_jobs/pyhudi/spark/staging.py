"""The batch, keyed and cut into pieces, kept by Spark until every row knows its file group.

The source is read once: a second reading could give other rows than those that were looked up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from pyhudi import errors
from pyhudi.errors import HudiError, InvariantError, RequestError
from pyhudi.keys.generators import KeyGenerator
from pyhudi.schema.evolution import reconcile
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.spark.pieces import keyed_schema, rechunk, record_batch, this_task, to_bytes
from pyhudi.spark.source import Rows

CHUNK_ROWS = 262_144
CHUNK_BYTES = 32 << 20
# The JVM holds pieces as single byte arrays, and many large ones fragment its heap.
PIECE_BYTES = 2 << 20
_TASK_SHIFT = 32

PIECE_SCHEMA = pa.schema(
    [
        pa.field("partition_path", pa.string()),
        pa.field("piece_id", pa.int64()),
        pa.field("count_rows", pa.int64()),
        pa.field("min_key", pa.string()),
        pa.field("max_key", pa.string()),
        pa.field("keys", pa.binary()),
        pa.field("rows", pa.binary()),
        pa.field("problem", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keying:
    """How rows of the source become rows of the table.

    ``data_schema`` is the table's schema without meta columns, or without any column where only
    keys count, as for deletes.
    """

    generator: KeyGenerator
    data_schema: pa.Schema
    ordering_field: str | None

    @property
    def schema(self) -> pa.Schema:
        """The record key first, then the data columns."""
        return keyed_schema(self.data_schema)

    def key_rows(self, rows: pa.Table) -> tuple[pa.Table, pa.StringArray]:
        """The keyed rows of a batch and their partition paths.

        Raises:
            RecordKeyError: null or empty keys.
            RequestError: null ordering values.
        """
        keys, paths = self.generator.apply(rows)
        if self.ordering_field is not None:
            _check_ordering(rows.column(self.ordering_field), self.ordering_field)
        names = self.data_schema.names
        data = reconcile(rows.select(names), self.data_schema) if names else rows.select([])
        columns = [keys, *data.columns]
        return pa.Table.from_arrays(columns, schema=self.schema), paths


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceInfo:
    """What the driver knows of a piece."""

    partition_path: str
    piece_id: int
    count_rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBatch:
    """A keyed batch that Spark keeps, and the list of its pieces."""

    frame: DataFrame
    pieces: tuple[PieceInfo, ...]

    @property
    def count_rows(self) -> int:
        """Rows of the whole batch."""
        return sum(piece.count_rows for piece in self.pieces)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partition paths in the batch, sorted."""
        return tuple(sorted({piece.partition_path for piece in self.pieces}))

    def release(self) -> None:
        """Let Spark drop the batch."""
        self.frame.unpersist()


def stage(rows: Rows, keying: Keying) -> StagedBatch:
    """Read the source once, key it, cut it into pieces of one partition each, and keep them.

    Guarantees: a piece holds about ``PIECE_BYTES`` at most and keeps the order of the source; piece
        ids rise with the task and within it. Spark keeps the pieces on disk, not in its heap.
    Raises: what ``Keying.key_rows`` raises, found before anything is written.
    """

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = this_task().partition_id << _TASK_SHIFT
        try:
            yield from _cut(batches, keying, first)
        except RequestError as error:
            nothing: list[Sequence[object]] = [[None]] * (len(PIECE_SCHEMA) - 1)
            yield _one_row([*nothing, [problem_of(error)]])

    frame = rows.map_batches(cut, PIECE_SCHEMA).persist(StorageLevel.DISK_ONLY)
    found = frame.select("partition_path", "piece_id", "count_rows", "problem").collect()
    problems = sorted(row.problem for row in found if row.problem is not None)
    if problems:
        frame.unpersist()
        raise revive(problems[0])
    pieces = tuple(
        PieceInfo(
            partition_path=row.partition_path, piece_id=row.piece_id, count_rows=row.count_rows
        )
        for row in found
    )
    return StagedBatch(frame=frame, pieces=pieces)


def split_by(codes: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Row positions of each code, in order of the codes, positions ascending."""
    order = np.argsort(codes, kind="stable")
    bounds: npt.NDArray[np.int64] = np.flatnonzero(np.diff(codes[order])) + 1
    for positions in np.split(order, bounds):
        if len(positions):
            yield int(codes[positions[0]]), positions


def _cut(
    batches: Iterator[pa.RecordBatch], keying: Keying, first_id: int
) -> Iterator[pa.RecordBatch]:
    piece_id = first_id
    for batch in rechunk(batches, rows=CHUNK_ROWS, size_bytes=CHUNK_BYTES):
        rows, paths = keying.key_rows(batch)
        for path, part in split_by_path(rows, paths):
            step = max(1, part.num_rows * PIECE_BYTES // max(1, part.nbytes))
            for start in range(0, part.num_rows, step):
                yield _piece(path, piece_id, part.slice(start, step))
                piece_id += 1


def split_by_path(rows: pa.Table, paths: pa.StringArray) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each partition path."""
    coded = pc.dictionary_encode(paths)
    if len(coded.dictionary) == 1:
        yield coded.dictionary[0].as_py(), rows
        return
    for code, positions in split_by(coded.indices.to_numpy()):
        yield coded.dictionary[code].as_py(), rows.take(pa.array(positions))


def _piece(path: str, piece_id: int, rows: pa.Table) -> pa.RecordBatch:
    keys = rows.column(RECORD_KEY)
    bounds = pc.min_max(keys).as_py()
    values: list[Sequence[object]] = [
        [path],
        [piece_id],
        [rows.num_rows],
        [bounds["min"]],
        [bounds["max"]],
        [to_bytes(rows.select([RECORD_KEY]))],
        [to_bytes(rows)],
        [None],
    ]
    return _one_row(values)


def _one_row(values: Iterable[Sequence[object]]) -> pa.RecordBatch:
    columns = [pa.array(v, f.type) for v, f in zip(values, PIECE_SCHEMA, strict=True)]
    return record_batch(columns, PIECE_SCHEMA)


def _check_ordering(column: pa.ChunkedArray, name: str) -> None:
    if column.null_count:
        raise RequestError(
            f"{column.null_count} rows have no value in the ordering column {name}; "
            "fill it or leave the rows out"
        )


def problem_of(error: RequestError) -> str:
    """An error of a task as text that reaches the driver with the task's result.

    An exception would be tried again on every executor and come back inside a stack trace.
    """
    return json.dumps({"kind": type(error).__name__, "message": str(error)})


def revive(problem: str) -> HudiError:
    """The error of ``problem_of``."""
    found = json.loads(problem)
    kind = getattr(errors, found["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, HudiError)):
        raise InvariantError(f"a task reported an unknown error: {problem}")
    return kind(found["message"])
