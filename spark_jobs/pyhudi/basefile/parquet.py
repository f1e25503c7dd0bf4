"""Parquet base files: rows in, rows out, Hudi's footer at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.basefile.condition import RowCondition, matching_row_groups
from pyhudi.basefile.encoding import (
    ALL_DIFFERENT,
    dictionary_columns,
    joined,
    repeating_texts,
    stored_schema,
)
from pyhudi.basefile.footer import FooterMetadata, read_footer
from pyhudi.errors import CorruptTableError

BATCH_ROWS: Final = 131_072

# Column chunks beyond this are read piece by piece, so that memory does not grow with the file.
_WHOLE_ROW_GROUP_BYTES: Final = 48 << 20
# Arrow refuses a level for the codecs that have none.
_LEVELLED: Final = ("zstd", "gzip")
_STREAM_BUFFER_BYTES: Final = 1 << 20
_FETCHED_BYTES: Final = 64 << 20

Ranges: TypeAlias = list[tuple[int, int]]
"""Starts and lengths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetWriteOptions:
    """How base files are encoded.

    A row group ends at ``row_group_rows`` rows or ``row_group_bytes`` of Arrow data, whichever
    comes first.

    Units: bytes and rows.
    """

    codec: str = "zstd"
    codec_level: int | None = 1
    row_group_rows: int = 262_144
    row_group_bytes: int = 64 << 20
    page_bytes: int = 1 << 20
    dictionary: bool = True
    dictionary_page_bytes: int = 1 << 20


class ParquetEncoder:
    """The row groups of one new Parquet file, and its footer."""

    def __init__(
        self, sink: pa.NativeFile, schema: pa.Schema, options: ParquetWriteOptions
    ) -> None:
        self._sink, self._schema, self._options = sink, schema, options
        self._writer: pq.ParquetWriter | None = None

    def write(self, tables: Sequence[pa.Table]) -> None:
        """Write a row group of these rows."""
        writer = self._writer or self._open(tables)
        columns = [
            joined([table.column(position) for table in tables], field.type)
            for position, field in enumerate(writer.schema)
        ]
        table = pa.Table.from_arrays(columns, schema=writer.schema)
        # A second dictionary within a column chunk would make the writer fall back to plain text.
        writer.write_table(table.unify_dictionaries(), row_group_size=table.num_rows)

    def finish(self, footer: FooterMetadata) -> None:
        """Write the footer."""
        writer = self._writer or self._open([])
        writer.add_key_value_metadata(footer.entries())
        writer.close()

    def abandon(self) -> None:
        """Write no footer, neither now nor later."""
        if self._writer is not None:
            # Else the writer would write a footer when it is garbage-collected.
            self._writer.is_open = False

    def _open(self, first: Sequence[pa.Table]) -> pq.ParquetWriter:
        options = self._options
        stored = stored_schema(self._schema, first)
        self._writer = pq.ParquetWriter(
            self._sink,
            stored,
            version="2.6",
            compression=options.codec,
            compression_level=options.codec_level if options.codec in _LEVELLED else None,
            use_dictionary=dictionary_columns(stored, first) if options.dictionary else False,
            data_page_size=options.page_bytes,
            dictionary_pagesize_limit=options.dictionary_page_bytes,
            store_schema=False,
        )
        return self._writer


class ParquetReader:
    """Reads one Parquet base file, whoever wrote it; ``name`` is what errors call it.

    With ``threads`` the columns of a batch are read beside each other.

    Guarantees: single-threaded without; beside a batch, memory holds a row group as stored if it
        is small, and buffers of 1 MB a column if it is not.
    """

    def __init__(
        self,
        source: pa.NativeFile | pa.Buffer,
        *,
        name: str = "a base file",
        threads: bool = False,
    ) -> None:
        try:
            handle = pa.BufferReader(source) if isinstance(source, pa.Buffer) else source
            self._metadata = pq.read_metadata(handle)
            self._file = self._opened(handle, [])
        except (pa.ArrowInvalid, EOFError, UnicodeDecodeError) as error:
            raise CorruptTableError(f"{name} is no Parquet file: {error}") from error
        self._handle, self._threads = handle, threads

    @property
    def row_groups(self) -> int:
        """Row groups of the file."""
        return int(self._metadata.num_row_groups)

    @property
    def group_rows(self) -> Sequence[int]:
        """The rows of each row group, in file order."""
        return [self._metadata.row_group(number).num_rows for number in range(self.row_groups)]

    @property
    def row_count(self) -> int:
        """Rows of the file, as its footer says."""
        return int(self._metadata.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """The columns in the types they are read in, dictionaries aside."""
        return self._file.schema_arrow.remove_metadata()

    @property
    def footer(self) -> FooterMetadata:
        """Hudi's entries of the footer."""
        return read_footer(self._metadata.metadata)

    def present(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that the file has, in the order given."""
        have = set(self.schema.names)
        return [name for name in names if name in have]

    def iter_tables(
        self,
        columns: Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
        *,
        batch_rows: int = BATCH_ROWS,
        keep_dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """Read the rows in file order, some at a time.

        With ``keep_dictionaries`` string columns that are stored with a dictionary come
        dictionary-encoded, which spares decoding them; record keys and sequence numbers never do.

        Shapes: the columns asked for that the file has, in the order asked, or all in file order;
            at most ``batch_rows`` rows, in one chunk.
        """
        wanted = list(self.schema.names) if columns is None else self.present(columns)
        groups = list(range(self.row_groups)) if row_groups is None else list(row_groups)
        file = self._file
        if keep_dictionaries:
            repeating = self._repeating(wanted, groups).difference(ALL_DIFFERENT)
            file = self._opened(self._handle, sorted(repeating))
        for some in self._fetched(wanted, groups):
            batches = file.iter_batches(
                batch_size=batch_rows, row_groups=some, columns=wanted, use_threads=self._threads
            )
            for batch in batches:
                yield pa.Table.from_batches([batch]).select(wanted)

    def _fetched(self, columns: Sequence[str], groups: Sequence[int]) -> Iterator[Sequence[int]]:
        """The row groups, some at a time: those of which the columns are fetched at once.

        Files whose parts cost a request each can do so; of others all are given.
        """
        fetch_ahead = getattr(self._handle, "fetch_ahead", None)
        if fetch_ahead is None:
            yield groups
            return
        for some, ranges in chunks_together(self._metadata, columns, groups):
            fetch_ahead(ranges)
            yield some

    def matching_row_groups(self, condition: RowCondition) -> list[int]:
        """The row groups that can hold rows which meet a condition, going by statistics."""
        found = matching_row_groups(self._handle, condition)
        return list(range(self.row_groups)) if found is None else found

    def _opened(self, handle: pa.NativeFile, dictionaries: Sequence[str]) -> pq.ParquetFile:
        sizes = [self._row_group_bytes(number) for number in range(self.row_groups)]
        is_streamed = max(sizes, default=0) > _WHOLE_ROW_GROUP_BYTES
        return pq.ParquetFile(
            handle,
            metadata=self._metadata,
            read_dictionary=list(dictionaries),
            buffer_size=_STREAM_BUFFER_BYTES if is_streamed else 0,
            pre_buffer=False,
            coerce_int96_timestamp_unit="us",
        )

    def _row_group_bytes(self, number: int) -> int:
        group = self._metadata.row_group(number)
        return sum(group.column(each).total_compressed_size for each in range(group.num_columns))

    def repeating_texts(self) -> set[str]:
        """The string columns that are stored with a dictionary throughout the file."""
        return self._repeating(self.schema.names, range(self.row_groups))

    def _repeating(self, names: Sequence[str], groups: Sequence[int]) -> set[str]:
        """Top-level string columns that the row groups store with a dictionary throughout."""
        strings = {
            field.name for field in self.schema if field.type == pa.string() and field.name in names
        }
        return repeating_texts(self._metadata, groups, strings)


def chunks_together(
    metadata: pq.FileMetaData, columns: Sequence[str], groups: Sequence[int]
) -> Iterator[tuple[Sequence[int], Ranges]]:
    """Row groups that are best fetched together, with where the chunks of some columns lie in them.

    Guarantees: all of the row groups in their order; of several that are fetched together the
        chunks have 64 MiB at most.
    """
    some: list[int] = []
    found: Ranges = []
    for number in groups:
        ranges = _chunks(metadata.row_group(number), columns)
        if some and sum(length for _, length in [*found, *ranges]) > _FETCHED_BYTES:
            yield some, found
            some, found = [], []
        some.append(number)
        found += ranges
    # Without a row group there are no rows, which a reader has to say as well.
    yield some, found


def _chunks(group: pq.RowGroupMetaData, columns: Sequence[str]) -> Ranges:
    wanted = set(columns)
    found = []
    for position in range(group.num_columns):
        chunk = group.column(position)
        if not _is_of(chunk.path_in_schema, wanted):
            continue
        start = chunk.data_page_offset
        if chunk.has_dictionary_page and chunk.dictionary_page_offset:
            start = min(start, chunk.dictionary_page_offset)
        found.append((start, chunk.total_compressed_size))
    return found


def _is_of(path: str, columns: set[str]) -> bool:
    """Whether a leaf is of one of some top-level columns, whose names may have dots."""
    parts = path.split(".")
    return any(".".join(parts[:count]) in columns for count in range(1, len(parts) + 1))
