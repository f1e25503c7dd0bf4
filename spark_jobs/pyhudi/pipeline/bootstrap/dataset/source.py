"""What the files of a source hold, as their footers say: rows, and one schema for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyhudi.basefile.open import BaseFileReader, open_base_file
from pyhudi.basefile.parquet import ParquetReader
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.options.evolution import MissingColumns
from pyhudi.errors import (
    CorruptTableError,
    MissingFileError,
    SchemaError,
    SourceError,
    UnsupportedError,
)
from pyhudi.pipeline.batch.pieces import one_row
from pyhudi.pipeline.batch.staging import error_of, problem_of
from pyhudi.pipeline.bootstrap.dataset.listing import FoundFile, Listing
from pyhudi.runner.runner import Runner
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.evolution.storable import storable_schema
from pyhudi.schema.evolution.writer_schema import check_compatible
from pyhudi.schema.metafields import META_FIELDS
from pyhudi.storage.storage import Storage

_FILES_A_TASK = 64
_BATCH_ROWS = 131_072
_FACTS = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("rows", pa.int64()),
        pa.field("row_groups", pa.int32()),
        pa.field("schema", pa.binary()),
        pa.field("repeating", pa.list_(pa.string())),
        pa.field("problem", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceData:
    """A file of the source, and how many rows and row groups its footer says it has.

    ``repeating`` are its text columns that lie there with a dictionary throughout.
    """

    file: FoundFile
    rows: int
    row_groups: int
    repeating: frozenset[str] = frozenset()


def part_name(source: SourceData, first_row_group: int) -> str:
    """What a task calls its part of a file, which begins at this row group."""
    return f"{source.file.path}:{first_row_group}"


def path_of_part(name: str) -> str:
    """The path of the file that a ``part_name`` is of."""
    return name.rpartition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A dataset that a table is made of.

    ``schema`` is one that all files fit, without partition columns that no file has; ``skipped``
    are files that are not taken over.
    """

    storage: Storage
    kind: BaseFileFormat
    files: tuple[SourceData, ...]
    skipped: tuple[FoundFile, ...]
    schema: pa.Schema

    @property
    def size_bytes(self) -> int:
        """Bytes of all files."""
        return sum(each.file.size_bytes for each in self.files)

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(each.rows for each in self.files)


def read_source(
    runner: Runner, storage: Storage, kind: BaseFileFormat, listing: Listing, most_tasks: int
) -> Source:
    """Read the footers of the files, over tasks, and find the schema that all of them fit.

    Raises:
        SourceError: a file is not readable, or no whole file of the format.
        SchemaError: two files do not fit each other, or a column has the name of a meta column.
    """
    files = listing.files
    count = max(1, min(-(-len(files) // _FILES_A_TASK), most_tasks))

    def look(_: TaskIdentity, number: int) -> Iterator[pa.RecordBatch]:
        for file in files[number::count]:
            yield _facts(storage, file)

    found = {row.path: row for row in runner.tasks(count, look, _FACTS).collect()}
    problems = sorted((path, row.problem) for path, row in found.items() if row.problem)
    if problems:
        raise error_of(problems[0][1])
    data = tuple(_data(file, found[file.path]) for file in files)
    # Spark 3.5 collects binary values as byte arrays, which are not hashable.
    schemas = ((file.path, bytes(found[file.path].schema)) for file in files)
    return Source(
        storage=storage,
        kind=kind,
        files=data,
        skipped=listing.skipped,
        schema=_joined_schema(storage, schemas),
    )


def _data(file: FoundFile, facts: Any) -> SourceData:
    return SourceData(
        file=file,
        rows=facts.rows,
        row_groups=facts.row_groups,
        repeating=frozenset(facts.repeating),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSource:
    """A file of the source that is open for reading; ``where`` is what errors call it."""

    where: str
    reader: BaseFileReader

    @property
    def columns(self) -> list[str]:
        """The names of its columns, in their order."""
        return list(self.reader.schema.names)

    def tables(
        self,
        names: Sequence[str],
        row_groups: Sequence[int] | None = None,
        *,
        batch_rows: int = _BATCH_ROWS,
        keep_dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """The rows in their order, some at a time; those of ``names`` that the file has.

        Without any of them there is one other column, since there would be no rows otherwise. With
        ``keep_dictionaries`` texts that repeat come dictionary-encoded.
        """
        have = self.columns
        known = [name for name in names if name in have]
        with source_errors(self.where):
            yield from self.reader.iter_tables(
                known or have[:1],
                row_groups,
                batch_rows=batch_rows,
                keep_dictionaries=keep_dictionaries,
            )


@contextmanager
def open_source(storage: Storage, file: FoundFile) -> Iterator[OpenSource]:
    """Open a file of the source, which has to be as large as it was when it was listed.

    Raises:
        SourceError: it has changed, is gone, is not readable, or is no whole file of its format.
    """
    where = storage.absolute(file.path)
    with source_errors(where):
        status = storage.status(file.path)
        if status is None:
            raise MissingFileError(f"cannot read {where}: it is not there")
        if status.size_bytes != file.size_bytes:
            raise SourceError(
                f"the source file {where} has {status.size_bytes} bytes and had "
                f"{file.size_bytes} when the source was listed: somebody writes to the source; "
                "bootstrap when nobody does"
            )
        with storage.open_input(file.path) as opened:
            yield OpenSource(where=where, reader=open_base_file(opened, name=where))


@contextmanager
def source_errors(where: str) -> Iterator[None]:
    """Say of a file of the source that it cannot be read, and why.

    Raises:
        SourceError: always the one for what went wrong.
    """
    try:
        yield
    except (CorruptTableError, UnsupportedError, MissingFileError) as error:
        raise SourceError(f"the source file {where} cannot be read: {error}") from error
    except pa.ArrowNotImplementedError as error:
        raise SourceError(f"the source file {where} cannot be read here: {error}") from error
    except pa.ArrowException as error:
        raise SourceError(f"the source file {where} is damaged: {error}") from error


def _facts(storage: Storage, file: FoundFile) -> pa.RecordBatch:
    try:
        with open_source(storage, file) as opened:
            reader = opened.reader
            schema = _schema_bytes(reader.schema.remove_metadata())
            texts = reader.repeating_texts() if isinstance(reader, ParquetReader) else set()
            counts = [reader.row_count, reader.row_groups]
            values = [file.path, *counts, schema, sorted(texts), None]
    except SourceError as error:
        values = [file.path, None, None, None, None, problem_of(error)]
    return one_row(values, _FACTS)


def _schema_bytes(schema: pa.Schema) -> bytes:
    """The schema as an Arrow IPC stream without rows."""
    sink = pa.BufferOutputStream()
    pa.ipc.new_stream(sink, schema).close()
    return bytes(sink.getvalue())


def _joined_schema(storage: Storage, schemas: Iterator[tuple[str, bytes]]) -> pa.Schema:
    """One schema for all files; equal ones are looked at once."""
    joined: pa.Schema | None = None
    seen: set[bytes] = set()
    owner: dict[str, str] = {}
    empty: dict[str, str] = {}
    for path, text in schemas:
        if text in seen:
            continue
        seen.add(text)
        schema = pa.ipc.open_stream(text).schema
        # A column of nothing but nulls may lie in a file without a type.
        empty.update((field.name, path) for field in schema if pa.types.is_null(field.type))
        typed = pa.schema([field for field in schema if not pa.types.is_null(field.type)])
        own = _own_schema(storage.absolute(path), typed)
        joined = own if joined is None else _with(joined, own, path, owner)
        for name in own.names:
            owner.setdefault(name, path)
    for name, path in empty.items():
        if name not in owner:
            raise SchemaError(
                f"the source file {storage.absolute(path)} has no type for the column {name}, and "
                "no other file has one; cast the column or leave it out"
            )
    return pa.schema([]) if joined is None else joined


def _own_schema(where: str, schema: pa.Schema) -> pa.Schema:
    meta = [name for name in schema.names if name.lower() in META_FIELDS]
    if meta:
        raise SchemaError(
            f"the source file {where} has the column {meta[0]}, a name that Hudi keeps for its "
            "own; rename or drop the column"
        )
    twice = [name for name, count in Counter(schema.names).items() if count > 1]
    if twice:
        raise SchemaError(f"the source file {where} has two columns {twice[0]}; rename one")
    try:
        return storable_schema(schema)
    except SchemaError as error:
        raise SchemaError(f"the source file {where}: {error}") from error


def _with(joined: pa.Schema, own: pa.Schema, path: str, owner: dict[str, str]) -> pa.Schema:
    try:
        found = check_compatible(joined, own, missing=MissingColumns.NULL)
        _check_texts(joined, own)
        return found
    except SchemaError as error:
        column = _misfit(joined, own)
        first = owner.get(column, next(iter(owner.values()), path))
        raise SchemaError(
            f"the source files {first} and {path} do not fit each other in the column {column}: "
            f"{error}"
        ) from error


def _misfit(joined: pa.Schema, own: pa.Schema) -> str:
    """The first column in which two schemas do not fit."""
    for field in own:
        like = [each for each in joined if each.name.lower() == field.name.lower()]
        try:
            check_compatible(pa.schema(like), pa.schema([field]), missing=MissingColumns.NULL)
            _check_texts(pa.schema(like), pa.schema([field]))
        except SchemaError:
            return str(field.name)
    return ""


def _check_texts(joined: pa.Schema, own: pa.Schema) -> None:
    """Refuse texts beside other values: rows that are written can become texts, these stay.

    Raises:
        SchemaError: says which column.
    """
    for field in own:
        before = joined.field(field.name).type if field.name in joined.names else field.type
        if pa.types.is_string(before) != pa.types.is_string(field.type):
            raise SchemaError(
                f"column {field.name} is {before} in one and {field.type} in the other"
            )
