"""Rows that memory has no room for: written to a file and mapped back, taken by their position."""

from __future__ import annotations

import mmap
import tempfile
from typing import Final

import numpy as np
import pyarrow as pa

from pyhudi.config.options.logs import MERGE_MEMORY, SPILL_FOLDER
from pyhudi.errors import StorageError
from pyhudi.schema.columns import Positions

BATCH_ROWS: Final = 65_536
_LEAST_BATCH_ROWS: Final = 4_096


class RowFile:
    """Batches of rows on disk.

    The file has no name in its folder, so nothing is left of it however the process ends. Its room
    is given back when neither it nor rows read from it are in use any more. A context manager.

    Raises:
        StorageError: the folder takes no files.
    """

    def __init__(self, schema: pa.Schema, folder: str | None) -> None:
        self._folder = folder or tempfile.gettempdir()
        self._schema = schema
        self._count = 0
        try:
            # Where the system cannot make a file without a name, it is unlinked at once.
            self._file = tempfile.TemporaryFile(  # noqa: SIM115 - closed by close()
                prefix="pyhudi-", dir=self._folder
            )
        except OSError as error:
            raise self._failed(error) from error
        self._writer = pa.ipc.new_file(pa.PythonFile(self._file, mode="w"), schema)

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the file; rows that were read from it stay."""
        self._file.close()

    def append(self, rows: pa.Table) -> range:
        """Write rows; the numbers of the batches that they are in.

        Raises:
            StorageError: the disk is full, or fails.
        """
        first = self._count
        try:
            for start in range(0, rows.num_rows, BATCH_ROWS):
                for batch in rows.slice(start, BATCH_ROWS).combine_chunks().to_batches():
                    self._writer.write_batch(batch)
                    self._count += 1
        except OSError as error:
            raise self._failed(error) from error
        return range(first, self._count)

    def mapped(self) -> tuple[pa.RecordBatch, ...]:
        """All batches; their values are pages of the file, which the system loads and lets go.

        Nothing can be appended after that.

        Raises:
            StorageError: the disk is full, or fails.
        """
        try:
            self._writer.close()
            self._file.flush()
            pages = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise self._failed(error) from error
        reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(pages)))
        return tuple(reader.get_batch(number) for number in range(self._count))

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"log records cannot be put aside in {self._folder}: {error}; name another folder with "
            f"{SPILL_FOLDER.key}, or allow more memory with {MERGE_MEMORY.key}",
            where=self._folder,
        )


def rows_at(rows: pa.Table, positions: Positions) -> pa.Table:
    """The rows at some positions, in their order.

    Guarantees: copies those rows alone; Arrow's own take copies columns of several chunks whole.
    """
    batches = rows.to_batches()
    if len(batches) <= 1:
        return rows.take(pa.array(positions))
    ends = np.cumsum([batch.num_rows for batch in batches])
    is_ordered = bool((positions[1:] >= positions[:-1]).all())
    order = np.arange(len(positions)) if is_ordered else np.argsort(positions, kind="stable")
    ordered = positions if is_ordered else positions[order]
    found, first = [], 0
    for batch, end, stop in zip(batches, ends, np.searchsorted(ordered, ends), strict=True):
        if stop > first:
            positions = ordered[first:stop] - (end - batch.num_rows)
            found.append(batch.take(pa.array(positions)))
        first = stop
    taken = pa.Table.from_batches(found, rows.schema).combine_chunks()
    if is_ordered:
        return taken
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return taken.take(pa.array(back))


def in_large_batches(rows: pa.Table) -> pa.Table:
    """The same rows, in one piece where they came in many small ones."""
    pieces = max((column.num_chunks for column in rows.columns), default=0)
    return rows.combine_chunks() if pieces * _LEAST_BATCH_ROWS > rows.num_rows else rows
