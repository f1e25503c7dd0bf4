"""Base files, opened: the one door to them, wherever their bytes lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pyarrow as pa

from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.open import BaseFileReader, open_base_file
from pyhudi.basefile.parquet import BATCH_ROWS
from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import CorruptTableError, MissingFileError, StorageError, UnsupportedError
from pyhudi.filegroup.slices import BaseFile, RowSource
from pyhudi.fileslice.side_by_side import SideBySideReader
from pyhudi.fileslice.sources import (
    SourceReader,
    check_size,
    completed,
    place_of_source,
    source_errors,
)
from pyhudi.fileslice.stored_keys import key_columns, keys_of
from pyhudi.keys.generators import KeyGenerator
from pyhudi.schema.columns import one_array
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.metafields import META_FIELDS
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBaseFile:
    """A base file that is open for reading: ``path`` in a ``storage``.

    A skeleton's rows are those of its source, which is opened once a column of it is read.

    Raises: as ``read_errors`` and, of a source, ``source_errors``, while rows are read.
    """

    storage: Storage
    path: str
    reader: BaseFileReader
    file: BaseFile

    @property
    def footer(self) -> FooterMetadata:
        """Hudi's entries of the footer."""
        return self.reader.footer

    @property
    def schema(self) -> pa.Schema:
        """The columns in the types they are read in, dictionaries aside."""
        return self.reader.schema

    @property
    def row_count(self) -> int:
        """How many rows it has, as its footer says."""
        return self.reader.row_count

    def rows(
        self,
        schema: pa.Schema,
        *,
        condition: RowCondition | None = None,
        share: slice | None = None,
        batch_rows: int = BATCH_ROWS,
        keep_dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """The rows in the columns and types of a schema, in file order, some at a time.

        Row groups without a row that meets the ``condition`` are left out, going by their
        statistics; ``share`` picks among the others. With ``keep_dictionaries`` texts that are
        stored with a dictionary pass through encoded, which spares most of their cost.

        Shapes: at most ``batch_rows`` rows; some column of the file where the schema has none.
        """
        self._refuse_lost_rows(schema)
        reader = self._reader_of(schema, condition)
        groups = self._row_groups(reader, condition, share)
        with read_errors(self.storage, self.path):
            # Without any column there would be no rows either, so one is read to count them.
            names = reader.present(schema.names) or _any_column(reader)
            for rows in reader.iter_tables(
                names, groups, batch_rows=batch_rows, keep_dictionaries=keep_dictionaries
            ):
                if self.file.source is not None:
                    rows = completed(rows, schema, self.file)
                whole = reconcile(rows, schema, keep_dictionaries=keep_dictionaries)
                yield whole if schema.names else rows

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Those of some columns that the file has, in its own types, some rows at a time."""
        with read_errors(self.storage, self.path):
            yield from self.reader.iter_tables(columns)

    def keys(self, virtual_keys: KeyGenerator | None, *, rows: int) -> Iterator[pa.ChunkedArray]:
        """The record keys, in file order, at least ``rows`` at a time but at the end of the file.

        How many are best depends on how they are searched, see ``SoughtKeys``.
        """
        waiting: list[pa.StringArray] = []
        for table in self.tables(key_columns(virtual_keys)):
            waiting.append(one_array(keys_of(table, virtual_keys)))
            if sum(map(len, waiting)) >= rows:
                yield pa.chunked_array(waiting, pa.string())
                waiting = []
        if waiting:
            yield pa.chunked_array(waiting, pa.string())

    def check_source(self) -> None:
        """Hold a skeleton's source against it, by bytes and rows; nothing of other files.

        Raises:
            BootstrapSourceError: it is gone, or another file.
        """
        if isinstance(self.reader, SideBySideReader):
            with read_errors(self.storage, self.path):
                self.reader.check_rows()

    def _reader_of(self, schema: pa.Schema, condition: RowCondition | None) -> BaseFileReader:
        """What has all columns that are read: of two files side by side maybe the skeleton."""
        asked = {*schema.names, *(() if condition is None else condition.columns)}
        if isinstance(self.reader, SideBySideReader) and asked <= {*META_FIELDS}:
            return self.reader.skeleton
        return self.reader

    def _row_groups(
        self, reader: BaseFileReader, condition: RowCondition | None, share: slice | None
    ) -> list[int] | None:
        """The row groups to read; None for all of them."""
        if condition is None and share is None:
            return None
        with read_errors(self.storage, self.path):
            if condition is None:
                groups = list(range(reader.row_groups))
            else:
                groups = reader.matching_row_groups(condition)
        return groups if share is None else _shared(groups, share, reader)

    def _refuse_lost_rows(self, schema: pa.Schema) -> None:
        if not self.file.is_skeleton or self.file.source is not None:
            return
        own = [name for name in schema.names if name not in META_FIELDS]
        if own:
            raise CorruptTableError(
                f"{self.storage.absolute(self.path)} has keys alone, and the table's bootstrap "
                f"index does not say which file has its rows: column {own[0]} cannot be read",
                where=self.storage.uri,
            )


def _shared(groups: list[int], share: slice, reader: BaseFileReader) -> list[int]:
    """One of the shares of some row groups.

    Of two files side by side it is neighbours, since a row group of one may reach over some of the
    other, and would be read by several shares.
    """
    if not isinstance(reader, SideBySideReader):
        return groups[share]
    number, shares = share.start or 0, share.step or 1
    return groups[len(groups) * number // shares : len(groups) * (number + 1) // shares]


def _any_column(reader: BaseFileReader) -> list[str]:
    return reader.present(META_FIELDS[:1]) or reader.schema.names[:1]


@contextmanager
def open_base(storage: Storage, file: BaseFile, *, threads: bool = False) -> Iterator[OpenBaseFile]:
    """Open a base file of the table in a storage.

    With ``threads`` its columns may be read beside each other; leave it out where files are.

    Raises:
        UnsupportedError: a format that is not read here.
        OptionError: the file lies in another place whose scheme is not known.
        CorruptTableError, MissingFileError, StorageError: as ``read_errors``; of a skeleton only
            once a column of it is read.
    """
    home, path = home_of(storage, file)
    with ExitStack() as stack:
        if file.source is None:
            reader = _opened(stack, home, path, threads=threads)
        else:
            reader = _side_by_side(stack, home, path, file.source, threads=threads)
        yield OpenBaseFile(storage=home, path=path, reader=reader, file=file)


def _opened(stack: ExitStack, home: Storage, path: str, *, threads: bool) -> BaseFileReader:
    with read_errors(home, path):
        source = stack.enter_context(home.open_input(path))
        return open_base_file(source, name=home.absolute(path), threads=threads)


def _side_by_side(
    stack: ExitStack, home: Storage, path: str, source: RowSource, *, threads: bool
) -> BaseFileReader:
    def open_skeleton() -> BaseFileReader:
        return _opened(stack, home, path, threads=threads)

    def open_source() -> BaseFileReader:
        place, name = place_of_source(home, source.uri)
        with source_errors(source):
            handle = stack.enter_context(place.open_input(name))
            check_size(source, handle.size())
            reader = open_base_file(handle, name=source.uri, threads=threads)
            return SourceReader(source=source, reader=reader)

    return SideBySideReader(open_skeleton, open_source, name=source.uri)


def home_of(storage: Storage, file: BaseFile) -> tuple[Storage, str]:
    """The storage in which the bytes of a base file lie, and their path there.

    Not: options of a storage, such as credentials, are not known of a place outside the table.
    """
    if not file.location:
        return storage, file.path
    folder, _, name = file.location.rpartition("/")
    return open_storage(folder or "/"), name


@contextmanager
def read_errors(storage: Storage, path: str) -> Iterator[None]:
    """Say of a file that is gone, damaged, or cannot be read, what happened to it.

    Raises:
        MissingFileError: it was cleaned since it was listed.
        CorruptTableError: it is no whole file of its format.
        UnsupportedError: it has what Arrow does not read.
        StorageError: any other failure to read it.
    """
    name = storage.absolute(path)
    try:
        yield
    except MissingFileError as error:
        raise MissingFileError(
            f"{name} is gone: was it cleaned while the table was read? "
            "Retry to read the table as it is now",
            where=storage.uri,
        ) from error
    except CorruptTableError as error:
        error.where = error.where or (storage.uri if name in str(error) else name)
        raise
    except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowIndexError, UnicodeDecodeError) as error:
        kind = BaseFileFormat.of_file(path)
        what = "file" if kind is None else f"{kind.title} file"
        raise CorruptTableError(
            f"{name} is not a whole {what}: {error}", where=storage.uri
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedError(f"{name} cannot be read: {error}", where=storage.uri) from error
    except OSError as error:
        raise StorageError(f"cannot read {name}: {error}", where=storage.uri) from error
