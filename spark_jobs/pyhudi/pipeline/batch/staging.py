"""The batch, keyed and cut into pieces, held until every row knows its file group.

The source is read once: a second reading could give other rows than those that were looked up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi import errors
from pyhudi.errors import HudiError, InvariantError, RequestError
from pyhudi.pipeline.batch.failed import FailedRecords, FailureReport, Failures
from pyhudi.pipeline.batch.keying import Keying, keyed_batches
from pyhudi.pipeline.batch.pieces import one_row, rechunk, sliced, to_bytes
from pyhudi.pipeline.batch.source import SourceRows
from pyhudi.runner.runner import SpreadRows
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.columns import order_of
from pyhudi.schema.metafields import RECORD_KEY

CHUNK_ROWS = 262_144
CHUNK_BYTES = 32 << 20
_TASK_SHIFT = 32

PIECE_SCHEMA = pa.schema(
    [
        pa.field("partition_path", pa.string()),
        pa.field("piece_id", pa.int64()),
        pa.field("count_rows", pa.int64()),
        pa.field("size_bytes", pa.int64()),
        pa.field("min_key", pa.string()),
        pa.field("max_key", pa.string()),
        pa.field("keys", pa.binary()),
        pa.field("rows", pa.binary()),
        pa.field("problem", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceInfo:
    """What the driver knows of a piece; ``size_bytes`` is what it takes on its way."""

    partition_path: str
    piece_id: int
    count_rows: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBatch:
    """A keyed batch that is held, and the list of its pieces.

    Shapes: ``rows`` has a row a piece, as ``PIECE_SCHEMA``.
    """

    rows: SpreadRows
    pieces: tuple[PieceInfo, ...]
    held: SpreadRows
    failures: Failures

    @property
    def count_rows(self) -> int:
        """Rows of the whole batch."""
        return sum(piece.count_rows for piece in self.pieces)

    @property
    def size_bytes(self) -> int:
        """Bytes that the batch takes on its way."""
        return sum(piece.size_bytes for piece in self.pieces)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partition paths in the batch, sorted."""
        return tuple(sorted({piece.partition_path for piece in self.pieces}))

    def release(self) -> None:
        """Drop the batch."""
        self.held.release()


def stage(rows: SourceRows, keying: Keying) -> StagedBatch:
    """Read the source once, key it, cut it into pieces of one partition each, and keep them.

    Guarantees: a piece holds about ``PIECE_BYTES`` at most and keeps the order of the source; piece
        ids rise with the task and within it. Pieces are not held in memory.
    Raises: what ``Keying.key_rows`` raises, found before anything is written; of rows that cannot
        be written, all of them are counted.
    """

    def cut(task: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from _cut(batches, keying, FailedRecords(keying.failures), task.partition_id)
        except RequestError as error:
            yield _message(problem_of(error))

    held = rows.map(cut, PIECE_SCHEMA).hold()
    found = held.collect("partition_path", "piece_id", "count_rows", "size_bytes", "problem")
    try:
        report = reported_failures(row.problem for row in found if row.problem is not None)
        report.refuse_unless(is_saving=keying.failures.is_saving)
    except HudiError:
        held.release()
        raise
    pieces = tuple(
        PieceInfo(
            partition_path=row.partition_path,
            piece_id=row.piece_id,
            count_rows=row.count_rows,
            size_bytes=row.size_bytes,
        )
        for row in found
        if row.problem is None
    )
    large = held.few_a_batch()
    failures = Failures(report=report, path=keying.failures.path)
    if not report.count:
        return StagedBatch(rows=large, pieces=pieces, held=held, failures=failures)
    return StagedBatch(
        rows=large.where_null("problem", is_null=True),
        pieces=pieces,
        held=held,
        failures=replace(failures, pieces=large.where_null("problem", is_null=False)),
    )


def split_by(codes: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Row positions of each code, in order of the codes, positions ascending."""
    order = order_of(codes)
    bounds: npt.NDArray[np.int64] = np.flatnonzero(np.diff(codes[order])) + 1
    for positions in np.split(order, bounds):
        if len(positions):
            yield int(codes[positions[0]]), positions


def _cut(
    batches: Iterator[pa.RecordBatch], keying: Keying, failed: FailedRecords, task: int
) -> Iterator[pa.RecordBatch]:
    piece_id = task << _TASK_SHIFT
    chunks = rechunk(batches, rows=CHUNK_ROWS, size_bytes=CHUNK_BYTES)
    for rows, paths in keyed_batches(chunks, keying, failed, task):
        for path, part in split_by_path(rows, paths):
            for piece in sliced(part):
                yield _piece(path, piece_id, piece)
                piece_id += 1
        for records in failed.take():
            for piece in sliced(records):
                yield _message(FailureReport.of(piece).to_text(), to_bytes(piece))
    if failed.is_fatal:
        yield _message(failed.report.to_text())


def split_by_path(rows: pa.Table, paths: pa.StringArray) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each partition path."""
    coded = pc.dictionary_encode(paths)
    if len(coded.dictionary) == 1:
        yield coded.dictionary[0].as_py(), rows
        return
    # Arrow joins the chunks of a text column for each rows that it takes of it.
    rows = rows.combine_chunks()
    for code, positions in split_by(coded.indices.to_numpy()):
        yield coded.dictionary[code].as_py(), rows.take(pa.array(positions))


def _piece(path: str, piece_id: int, rows: pa.Table) -> pa.RecordBatch:
    keys = rows.column(RECORD_KEY)
    bounds = pc.min_max(keys).as_py()
    data = to_bytes(rows)
    values = [
        path,
        piece_id,
        rows.num_rows,
        len(data),
        bounds["min"],
        bounds["max"],
        to_bytes(rows.select([RECORD_KEY])),
        data,
        None,
    ]
    return one_row(values, PIECE_SCHEMA)


def _message(problem: str, rows: bytes | None = None) -> pa.RecordBatch:
    """A row that is no piece: what a task has to say, and failed records to save."""
    nothing = [None] * (len(PIECE_SCHEMA) - 2)
    return one_row([*nothing, rows, problem], PIECE_SCHEMA)


def problem_of(error: RequestError) -> str:
    """An error of a task as text that reaches the driver with the task's result.

    An exception would be tried again on every executor and come back inside a stack trace.
    """
    return json.dumps({"kind": type(error).__name__, "message": str(error)})


def reported_failures(problems: Iterable[str]) -> FailureReport:
    """What tasks have to say of rows that cannot be written.

    Raises: the error of another kind that one of them reports.
    """
    reports = []
    for problem in sorted(problems):
        report = FailureReport.from_text(problem)
        if report is None:
            raise error_of(problem)
        reports.append(report)
    return FailureReport.joined(reports)


def error_of(problem: str) -> HudiError:
    """The error of ``problem_of``."""
    found = json.loads(problem)
    kind = getattr(errors, found["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, HudiError)):
        raise InvariantError(f"a task reported an unknown error: {problem}")
    return kind(found["message"])
