"""Looking into the files of a table: whole or not, and which record keys they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.cli.validation.keys import Hashes, hashes_of
from pyhudi.errors import CorruptTableError, HudiError, MissingFileError, RequestError, StorageError
from pyhudi.filegroup.slices import BaseFile, FileSlice
from pyhudi.fileslice.checks import (
    FileProblem,
    StatedFile,
    base_problem,
    file_problems,
    size_problem,
    source_problem,
    unreadable,
)
from pyhudi.fileslice.opener import OpenBaseFile, open_base
from pyhudi.fileslice.reader import slice_rows
from pyhudi.fileslice.reading import SliceReading
from pyhudi.keys.generators import KeyGenerator
from pyhudi.table.keying import virtual_key_generator
from pyhudi.table.slice_reading import check_merger, slice_reading
from pyhudi.table.table import Table

_KEY_ROWS = 262_144
# Of damaged pages Arrow gives an error as of a storage that failed.
_UNREADABLE = (CorruptTableError, RequestError, StorageError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was seen in a file slice, or in a file of an older one.

    ``rows`` are those of its base file, ``hashes`` of its record keys None where nobody asked.
    """

    place: str
    partition: str = ""
    problems: tuple[tuple[str, FileProblem], ...] = ()
    rows: int = 0
    hashes: Hashes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyReading:
    """How record keys are read; ``reading`` is None where log files cannot be merged."""

    virtual_keys: KeyGenerator | None
    reading: SliceReading | None
    schema: pa.Schema


def key_reading(table: Table) -> tuple[KeyReading | None, str | None]:
    """How the record keys of a table are read, and why some or all are not."""
    config = table.config
    try:
        virtual = None if config.populate_meta_fields else virtual_key_generator(config)
        if virtual is not None and not config.record_key_fields:
            return None, "the table has no record keys"
    except HudiError as error:
        return None, str(error)
    plain = KeyReading(virtual_keys=virtual, reading=None, schema=pa.schema([]))
    try:
        check_merger(table, None)
        schema = table.schema()
        reading = slice_reading(table, schema)
    except (CorruptTableError, RequestError) as error:
        return plain, f"those of slices with log files: {error}"
    wanted = reading.columns((), schema.names)
    read = pa.schema([each for each in schema if each.name in wanted])
    return KeyReading(virtual_keys=virtual, reading=reading, schema=read), None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """How files are looked into: what writes say of them, and how their keys are read, if at all.

    Shapes: ``stated`` and ``sizes`` are by path.
    """

    table: Table
    stated: Mapping[str, StatedFile]
    sizes: Mapping[str, int]
    keys: KeyReading | None

    def into_slice(self, found: FileSlice) -> Looked:
        """Look into the base file and the log files of a slice, and read its record keys."""
        base, logs = found.base_file, found.log_files
        reads_rows = self.keys is not None
        bad = [
            (log.path, problem)
            for log in logs
            for problem in self._problems(log.path, reads_rows=reads_rows)
        ]
        place = base.path if base is not None else logs[0].path
        looked = Looked(place=place, partition=found.partition, problems=tuple(bad))
        if base is not None:
            looked = self._into_base(base, looked, reads_keys=not logs)
        if not logs or looked.problems or self.keys is None or self.keys.reading is None:
            return looked
        try:
            hashes = hashes_of(self.read_keys(found))
        except _UNREADABLE as error:
            return _with_problem(looked, place, unreadable(error))
        return replace(looked, hashes=hashes)

    def into_file(self, path: str) -> Looked:
        """Look into a file of an older slice."""
        found = self._problems(path)
        return Looked(place=path, problems=tuple((path, problem) for problem in found))

    def read_keys(self, found: FileSlice) -> Iterator[pa.ChunkedArray]:
        """The record keys of the rows of a slice, some at a time."""
        if self.keys is None:
            return
        base, reading = found.base_file, self.keys.reading
        if not found.log_files and base is not None:
            with open_base(self.table.storage, base) as opened:
                yield from opened.keys(self.keys.virtual_keys, rows=_KEY_ROWS)
        elif reading is not None:
            for rows in slice_rows(self.table.storage, found, reading, self.keys.schema):
                keys = reading.keys_of(rows)
                yield keys if isinstance(keys, pa.ChunkedArray) else pa.chunked_array([keys])

    def _problems(self, path: str, *, reads_rows: bool = False) -> tuple[FileProblem, ...]:
        storage, size = self.table.storage, self.sizes.get(path)
        try:
            return file_problems(storage, self._said_of(path), size, reads_rows=reads_rows)
        except StorageError as error:
            return (unreadable(error),)

    def _said_of(self, path: str) -> StatedFile:
        """What writes say of a file: nothing, where they have been archived."""
        is_log = BaseFile.of("", path.rpartition("/")[2], 0) is None
        return self.stated.get(path) or StatedFile(path=path, instant="", is_log=is_log)

    def _into_base(self, file: BaseFile, looked: Looked, *, reads_keys: bool) -> Looked:
        stated = self._said_of(file.path)
        problem = size_problem(stated, file.size_bytes)
        if problem is not None:
            return _with_problem(looked, file.path, problem)
        try:
            with open_base(self.table.storage, file) as opened:
                problem, hashes = base_problem(opened, stated) or source_problem(opened), None
                if problem is None and reads_keys and self.keys is not None:
                    problem, hashes = self._keys_in(opened)
                rows = opened.row_count
        except MissingFileError:
            return _with_problem(looked, file.path, size_problem(stated, None))
        except _UNREADABLE as error:
            return _with_problem(looked, file.path, unreadable(error))
        return _with_problem(replace(looked, rows=rows, hashes=hashes), file.path, problem)

    def _keys_in(self, opened: OpenBaseFile) -> tuple[FileProblem | None, Hashes]:
        """The record keys of a base file, and whether they lie in the range of its footer."""
        virtual = self.keys.virtual_keys if self.keys is not None else None
        parts = list(opened.keys(virtual, rows=_KEY_ROWS))
        first, last = opened.footer.min_key, opened.footer.max_key
        # Beyond ASCII Java orders texts otherwise.
        if first is not None and last is not None and f"{first}{last}".isascii():
            for keys in parts:
                found = pc.min_max(keys)
                low, high = found["min"].as_py(), found["max"].as_py()
                if low is not None and (low < first or (high > last and high.isascii())):
                    outside = low if low < first else high
                    return FileProblem(
                        damage="wrong footer",
                        detail=f"its footer gives its keys as {first!r} to {last!r}, and it holds "
                        f"{outside!r}: lookups would not find that",
                    ), np.empty(0, dtype=np.uint64)
        return None, hashes_of(iter(parts))


def _with_problem(looked: Looked, path: str, problem: FileProblem | None) -> Looked:
    if problem is None:
        return looked
    return replace(looked, problems=(*looked.problems, (path, problem)), hashes=None)
