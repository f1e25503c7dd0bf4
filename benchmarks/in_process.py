"""This engine in the process of the benchmark, without Spark, where its storage calls are counted.

A call is what an object store is asked once: a listing, a look, a read, a file made or deleted.
A listing of more entries than the store gives at once takes several requests, which is why the
entries are counted too; an opened file takes a request for each part of it that is read.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from engines import Line
from ours import is_refused
from steps import Step, Workload, carry_out, fingerprint_of_batches, hudi_options

from pyhudi.config.read import ReadConfig
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.batch.source import parquet_rows
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.write import write_rows
from pyhudi.read.query import plan_read
from pyhudi.read.rows import read_file, read_slice
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import SystemClock


@dataclass
class Counts:
    """What a storage was asked: how often by kind of call, and the entries that listings gave."""

    calls: Counter[str] = field(default_factory=Counter)
    entries: int = 0

    def as_line(self) -> Line:
        """Numbers for a line of a benchmark."""
        return {
            "calls": self.calls.total(),
            "entries": self.entries,
            "calls_by_kind": dict(sorted(self.calls.items())),
        }


@dataclass(frozen=True)
class CountingStorage:
    """Another Storage, whose calls are counted."""

    inner: Storage
    counts: Counts

    @property
    def uri(self) -> str:
        """The root as it was given."""
        return self.inner.uri

    def absolute(self, path: str) -> str:
        """The path as the file system knows it."""
        return self.inner.absolute(path)

    def list(self, path: str) -> list[FileStatus]:
        """Entries of a folder."""
        found = self._counted("list").list(path)
        self.counts.entries += len(found)
        return found

    def list_folders(self, paths: Iterable[str]) -> Mapping[str, Sequence[FileStatus]]:
        """Entries of several folders."""
        found = self._counted("list_folders").list_folders(paths)
        self.counts.entries += sum(map(len, found.values()))
        return found

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        """The files below a folder."""
        found = self._counted("walk").walk(path, without)
        self.counts.entries += len(found)
        return found

    def status(self, path: str) -> FileStatus | None:
        """The entry at a path."""
        return self._counted("status").status(path)

    def exists(self, path: str) -> bool:
        """Whether anything lies at a path."""
        return self._counted("exists").exists(path)

    def read(self, path: str) -> bytes:
        """A whole file."""
        return self._counted("read").read(path)

    def read_settled(self, path: str) -> bytes:
        """A whole file that never changes."""
        return self._counted("read").read_settled(path)

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """A seekable input file; what is read of it is not counted."""
        return self._counted("open_input").open_input(path)

    def open_output(self, path: str) -> pa.NativeFile:
        """A stream that makes or replaces a file."""
        return self._counted("open_output").open_output(path)

    def create(self, path: str, data: bytes) -> None:
        """Make a file."""
        self._counted("create").create(path, data)

    def put(self, path: str, data: bytes) -> None:
        """Make or replace a file."""
        self._counted("put").put(path, data)

    def delete(self, path: str) -> bool:
        """Delete a file."""
        return self._counted("delete").delete(path)

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete files."""
        self._counted("delete_all").delete_all(paths)

    def delete_dir(self, path: str) -> None:
        """Delete a folder."""
        self._counted("delete_dir").delete_dir(path)

    def make_dir(self, path: str) -> None:
        """Make a folder."""
        self._counted("make_dir").make_dir(path)

    def _counted(self, kind: str) -> Storage:
        self.counts.calls[kind] += 1
        return self.inner


class InProcess:
    """An engine and its session in one: steps are carried out as in a process of its own.

    A context manager that deletes its table before and after.

    ``counts`` are those of the last step; ``condition`` is what rows meet that are read.
    """

    def __init__(self, work: Workload, runner: InProcessRunner | None = None) -> None:
        self._work = work
        self._runner = runner or InProcessRunner()
        self.counts = Counts()
        self.condition: pc.Expression | None = None
        self.result: JobResult | None = None

    def __enter__(self) -> InProcess:
        self.stop()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def run(self, step: Step) -> Line:
        """One step; its line, with the storage calls it made."""
        self.counts = Counts()
        line = carry_out(self, step, self._work.folder)
        return {**line, **self.counts.as_line()}

    def start(self, source: str) -> int:
        """Count a file's rows."""
        rows = parquet_rows(self._runner, [source])
        return 0 if rows is None else sum(footer.num_rows for footer in rows.footers)

    def write(self, operation: str, source: str) -> None:
        """One operation; what it answered is the ``result``."""
        options = {**hudi_options(self._work), "hoodie.datasource.write.operation": operation}
        around = Environment(runner=self._runner, clock=SystemClock(), open_storage=self._opened)
        rows = parquet_rows(self._runner, [source])
        self.result = write_rows(around, rows, self._work.table, options)

    def requests(self) -> dict[str, int]:
        """The storage calls are counted instead."""
        return {}

    def is_refused(self, error: Exception) -> bool:
        """Whether a write was refused because of others."""
        return is_refused(error)

    def read(self) -> tuple[int, str]:
        """Count and sum of the rows."""
        parts = list(self._batches([self._work.value]))
        column = pa.chunked_array([part.column(0) for part in parts])
        return len(column), str(pc.sum(column).as_py())

    def fingerprint(self) -> dict[str, int]:
        """The fingerprint, batch by batch."""
        return fingerprint_of_batches(self._work, self._batches(self._work.fingerprint_columns))

    def stop(self) -> None:
        """Delete the table; there is no session."""
        shutil.rmtree(self._work.folder, ignore_errors=True)

    def _opened(self, path: str) -> Storage:
        return CountingStorage(open_storage(path), self.counts)

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        storage = self._opened(self._work.table)
        table = load_table(storage)
        plan = plan_read(table, ReadConfig.of(), columns=columns, filters=self.condition)
        reads: tuple[tuple[Callable[..., Any], Any], ...] = (
            *((read_file, file) for file in plan.files),
            *((read_slice, each) for each in plan.slices),
        )
        for read, each in reads:
            for part in read(storage, plan, each):
                yield from part.to_batches()
