"""Rows of a base file that wait until there are enough of them for a row group."""

from __future__ import annotations

import pyarrow as pa

# Bytes of file for each byte of Arrow data, until a first row group has shown it.
_USUAL_SHRINKAGE = 0.3


class WaitingRows:
    """The rows of the row group that is being filled, and how far earlier ones shrank in the file.

    A row group is full at ``most_rows`` rows or ``most_bytes`` of Arrow data, whichever comes
    first.

    Units: bytes and rows.
    """

    def __init__(self, *, most_rows: int, most_bytes: int) -> None:
        self._most_rows, self._most_bytes = most_rows, most_bytes
        self._tables: list[pa.Table] = []
        self._rows = self._written_bytes = 0
        self.size_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the row group is to be written."""
        return self._rows >= self._most_rows or self.size_bytes >= self._most_bytes

    def split(self, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows that there is room for, and the others."""
        room = self._most_rows - self._rows
        return rows.slice(0, room), rows.slice(room)

    def add(self, rows: pa.Table) -> None:
        """Let rows wait."""
        self._tables.append(rows)
        self._rows += rows.num_rows
        self.size_bytes += rows.nbytes

    def take(self) -> list[pa.Table]:
        """The rows that wait, to be written now; from here on none does."""
        taken, self._tables = self._tables, []
        self._written_bytes += self.size_bytes
        self._rows = self.size_bytes = 0
        return taken

    def file_bytes(self, written: int) -> int:
        """About how large a file of so many bytes will be with the waiting rows."""
        shrinkage = written / self._written_bytes if self._written_bytes else _USUAL_SHRINKAGE
        return int(written + self.size_bytes * shrinkage)
