"""The batch, keyed and cut into pieces, kept by Spark until every row knows its file group.

The source is read once: a second reading could give other rows than those that were looked up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from pyhudi import errors
from pyhudi.config.options.failures import FailureConfig
from pyhudi.errors import HudiError, InvariantError, RequestError
from pyhudi.keys.generated import row_numbers
from pyhudi.keys.generators import KeyGenerator
from pyhudi.merge.ordering import ordering_columns
from pyhudi.schema.columns import order_of
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.spark.batch.failed import FailedRecords, FailureReport, Failures
from pyhudi.spark.batch.pieces import (
    keyed_schema,
    one_row,
    rechunk,
    sliced,
    this_task,
    to_bytes,
)
from pyhudi.spark.batch.source import Rows
from pyhudi.write.sorted_rows import Keyed

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
class Keying:
    """How rows of the source become rows of the table.

    ``data_schema`` is the table's schema without meta columns, or without any column where only
    keys count, as for deletes. ``ordering_fields`` are those columns that must have a value, and
    ``failures`` says what becomes of rows that cannot be written.
    """

    generator: KeyGenerator
    data_schema: pa.Schema
    ordering_fields: tuple[str, ...] = ()
    failures: FailureConfig = field(default_factory=FailureConfig)

    @property
    def schema(self) -> pa.Schema:
        """The record key first, then the data columns."""
        return keyed_schema(self.data_schema)

    @property
    def carried_texts(self) -> tuple[str, ...]:
        """Text columns whose values nothing but the file they are written to looks at.

        These may come dictionary-encoded, and are keyed as they come.
        """
        looked_at = {name.partition(".")[0] for name in self.generator.path_fields}
        looked_at.update(self.generator.key_columns, self.ordering_fields)
        return tuple(
            field.name
            for field in self.data_schema
            if field.type == pa.string() and field.nullable and field.name not in looked_at
        )

    def key_rows(self, rows: pa.Table, first_row: int) -> tuple[pa.Table, pa.StringArray]:
        """The keyed rows of a batch and their partition paths.

        ``first_row`` counts the rows that the task has keyed before. In a table that makes up its
        record keys, a key lacks its instant yet.

        Raises:
            RecordKeyError: null or empty keys.
            RequestError: null ordering values.
        """
        paths = self.generator.partition_paths(rows)
        if self.generator.generates_keys:
            keys = row_numbers(this_task().partition_id, first_row, rows.num_rows)
        else:
            keys = self.generator.record_keys(rows)
        ordering = ordering_columns(rows, self.ordering_fields)
        for name, column in zip(self.ordering_fields, ordering, strict=True):
            _check_ordering(column, name)
        names = self.data_schema.names
        data = (
            reconcile(rows, self.data_schema, keep_dictionaries=True) if names else rows.select([])
        )
        schema = keyed_schema(data.schema)
        return pa.Table.from_arrays([keys, *data.columns], schema=schema), paths


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceInfo:
    """What the driver knows of a piece; ``size_bytes`` is what it takes on its way."""

    partition_path: str
    piece_id: int
    count_rows: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBatch:
    """A keyed batch that Spark keeps, and the list of its pieces."""

    frame: DataFrame
    pieces: tuple[PieceInfo, ...]
    kept: DataFrame
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
        """Let Spark drop the batch."""
        self.kept.unpersist()


def stage(rows: Rows, keying: Keying) -> StagedBatch:
    """Read the source once, key it, cut it into pieces of one partition each, and keep them.

    Guarantees: a piece holds about ``PIECE_BYTES`` at most and keeps the order of the source; piece
        ids rise with the task and within it. Spark keeps the pieces on disk, not in its heap.
    Raises: what ``Keying.key_rows`` raises, found before anything is written; of rows that cannot
        be written, all of them are counted.
    """

    def cut(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = this_task().partition_id << _TASK_SHIFT
        try:
            yield from _cut(batches, keying, FailedRecords(keying.failures), first)
        except RequestError as error:
            yield _message(problem_of(error))

    frame = rows.map_batches(cut, PIECE_SCHEMA).persist(StorageLevel.DISK_ONLY)
    found = frame.select(
        "partition_path", "piece_id", "count_rows", "size_bytes", "problem"
    ).collect()
    try:
        report = reported_failures(row.problem for row in found if row.problem is not None)
        report.refuse_unless(is_saving=keying.failures.is_saving)
    except HudiError:
        frame.unpersist()
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
    failures = Failures(report=report, path=keying.failures.path)
    if not report.count:
        return StagedBatch(frame=frame, pieces=pieces, kept=frame, failures=failures)
    return StagedBatch(
        frame=frame.where(frame["problem"].isNull()),
        pieces=pieces,
        kept=frame,
        failures=replace(failures, pieces=frame.where(frame["problem"].isNotNull())),
    )


def split_by(codes: npt.NDArray[Any]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Row positions of each code, in order of the codes, positions ascending."""
    order = order_of(codes)
    bounds: npt.NDArray[np.int64] = np.flatnonzero(np.diff(codes[order])) + 1
    for positions in np.split(order, bounds):
        if len(positions):
            yield int(codes[positions[0]]), positions


def _cut(
    batches: Iterator[pa.RecordBatch], keying: Keying, failed: FailedRecords, first_id: int
) -> Iterator[pa.RecordBatch]:
    piece_id = first_id
    chunks = rechunk(batches, rows=CHUNK_ROWS, size_bytes=CHUNK_BYTES)
    for rows, paths in keyed_batches(chunks, keying, failed):
        for path, part in split_by_path(rows, paths):
            for piece in sliced(part):
                yield _piece(path, piece_id, piece)
                piece_id += 1
        for records in failed.take():
            for piece in sliced(records):
                yield _message(FailureReport.of(piece).to_text(), to_bytes(piece))
    if failed.is_fatal:
        yield _message(failed.report.to_text())


def keyed_batches(
    chunks: Iterator[pa.Table], keying: Keying, failed: FailedRecords
) -> Iterator[Keyed]:
    """Keyed rows and their partition paths, chunk by chunk of the source.

    Rows that cannot be written go to ``failed``; only a chunk that cannot be keyed is searched for
    them. Once they are fatal no more rows come, and the rest of the chunks is searched alone.

    Raises: what ``Keying.key_rows`` raises, unless single rows are to blame.
    """
    count = 0
    for chunk in chunks:
        try:
            keyed = keying.key_rows(chunk, count)
        except RequestError:
            fine = failed.without(
                chunk,
                generator=keying.generator,
                schema=keying.data_schema,
                ordering_fields=keying.ordering_fields,
            )
            keyed = keying.key_rows(fine, count)
        if not failed.is_fatal:
            yield keyed
        count += chunk.num_rows


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
