"""ORC base files: rows in, rows out, Hudi's entries in the user metadata."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import orc

from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.encoding import joined
from pyhudi.basefile.footer import FooterMetadata, read_footer
from pyhudi.basefile.orc.tail import file_tail, with_user_metadata, writer_zone
from pyhudi.basefile.orc.types import from_stored, has_wall_clocks, logical_type, to_stored
from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.schema import avro
from pyhudi.schema.arrow import avro_to_arrow

BATCH_ROWS: Final = 131_072

# As Arrow's writer calls them, where it has a name of its own.
_WRITER_CODECS: Final = {"none": "uncompressed"}
# Arrow's writer ends a stripe after the rows it gets at once if their encoding has so many bytes.
_SMALLEST_STRIPE_BYTES: Final = 1
_TOO_FAR: Final = "out of range for nanosecond"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcWriteOptions:
    """How ORC base files are encoded.

    A stripe, ORC's row group, ends at ``row_group_rows`` rows or ``row_group_bytes`` of Arrow data,
    whichever comes first.

    Units: bytes and rows.
    """

    codec: str = "zlib"
    row_group_rows: int = 131_072
    row_group_bytes: int = 64 << 20


class OrcEncoder:
    """The stripes of one new ORC file, and its footer."""

    def __init__(self, sink: pa.NativeFile, schema: pa.Schema, options: OrcWriteOptions) -> None:
        self._sink, self._schema, self._is_empty = sink, schema, True
        self._output = _HeldOutput(sink)
        self._writer = orc.ORCWriter(
            pa.PythonFile(self._output, mode="w"),
            batch_size=options.row_group_rows,
            stripe_size=_SMALLEST_STRIPE_BYTES,
            compression=_WRITER_CODECS.get(options.codec, options.codec),
        )

    def write(self, tables: Sequence[pa.Table]) -> None:
        """Write a stripe of these rows."""
        columns = [
            to_stored(joined([t.column(position) for t in tables], field.type), field.name)
            for position, field in enumerate(self._schema)
        ]
        self._writer.write(pa.Table.from_arrays(columns, names=self._schema.names))
        self._is_empty = False

    def finish(self, footer: FooterMetadata) -> None:
        """Write the footer, with Hudi's entries in the user metadata."""
        if self._is_empty:
            self.write([self._schema.empty_table()])
        self._output.hold()
        self._writer.close()
        self._sink.write(with_user_metadata(self._output.held(), footer.orc_entries()))

    def abandon(self) -> None:
        """Write no footer, neither now nor later."""
        # Else the writer would write a footer when it is garbage-collected.
        self._writer.is_open = False


class OrcReader:
    """Reads one ORC base file, whoever wrote it; ``name`` is what errors call it.

    Guarantees: single-threaded; whole files are read batch by batch, whatever the size of their
        stripes.
    """

    def __init__(self, source: pa.NativeFile | pa.Buffer, *, name: str = "a base file") -> None:
        self._handle = pa.BufferReader(source) if isinstance(source, pa.Buffer) else source
        self._name = name
        try:
            self._file = orc.ORCFile(self._handle)
            self._found = self._file.schema.remove_metadata()
            self._entries = dict(self._file.metadata or {})
        except (pa.ArrowException, OSError, ValueError) as error:
            self._touch()
            raise CorruptTableError(f"{name} is no ORC file: {error}") from error
        self._schema: pa.Schema | None = None

    @property
    def row_groups(self) -> int:
        """Stripes of the file."""
        return int(self._file.nstripes)

    @property
    def group_rows(self) -> Sequence[int]:
        """The rows of each stripe, in file order."""
        tail = file_tail(self._file.reader.serialized_file_tail())
        return [stripe.rows for stripe in tail.stripes]

    @property
    def row_count(self) -> int:
        """Rows of the file, as its footer says."""
        return int(self._file.nrows)

    @property
    def schema(self) -> pa.Schema:
        """The columns in the types they are read in.

        Raises:
            SchemaError: the Avro schema in the file is none.
            CorruptTableError: a column's name is no text.
        """
        if self._schema is None:
            text = self.footer.avro_schema
            stated = avro_to_arrow(avro.parse(text)) if text else pa.schema([])
            types = {field.name: field.type for field in stated}
            try:
                self._schema = pa.schema(
                    [f.with_type(logical_type(f.type, types.get(f.name))) for f in self._found]
                )
            except UnicodeDecodeError as error:
                raise CorruptTableError(
                    f"{self._name} is no ORC file: a column's name is no text: {error}"
                ) from error
        return self._schema

    @property
    def footer(self) -> FooterMetadata:
        """Hudi's entries of the user metadata."""
        return read_footer(self._entries)

    def present(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that the file has, in the order given."""
        have = set(self._found.names)
        return [name for name in names if name in have]

    def iter_tables(
        self,
        columns: Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
        *,
        batch_rows: int = BATCH_ROWS,
        keep_dictionaries: bool = False,  # noqa: ARG002 - texts of ORC files come plain
    ) -> Iterator[pa.Table]:
        """Read the rows in file order, some at a time.

        Shapes: the columns asked for that the file has, in the order asked, or all in file order;
            at most ``batch_rows`` rows, in one chunk.

        Raises:
            CorruptTableError: bytes that are no ORC data.
            UnsupportedError: a timestamp that nanoseconds cannot tell.
        """
        wanted = self._found.names if columns is None else self.present(columns)
        schema = pa.schema([self.schema.field(name) for name in wanted])
        zone = self._zone(wanted)
        is_whole = row_groups is None or list(row_groups) == list(range(self.row_groups))
        stripes = [] if row_groups is None else row_groups
        batches = self._stream(wanted, batch_rows) if is_whole else self._pick(wanted, stripes)
        try:
            for batch in batches:
                arrays = [from_stored(batch.column(f.name), f.type, zone) for f in schema]
                table = pa.Table.from_arrays(arrays, schema=schema)
                for start in range(0, table.num_rows, batch_rows):
                    yield table.slice(start, batch_rows)
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            if _TOO_FAR in str(error):
                raise UnsupportedError(
                    f"{self._name} has a timestamp before 1677 or after 2262, which cannot be read "
                    f"from an ORC file here: {error}"
                ) from error
            self._touch()
            raise CorruptTableError(f"{self._name} is not a whole ORC file: {error}") from error

    def matching_row_groups(
        self,
        condition: RowCondition,  # noqa: ARG002 - Arrow does not tell the statistics of ORC files
    ) -> list[int]:
        """All stripes, whatever the condition."""
        return list(range(self.row_groups))

    def _touch(self) -> None:
        """Read something: Arrow gives one kind of error for bad bytes and for a storage that fails.

        Raises:
            OSError: it was the storage.
        """
        self._handle.seek(0)
        self._handle.read(1)

    def _stream(self, columns: Sequence[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        fragment = ds.OrcFileFormat().make_fragment(self._handle)
        scanner = fragment.scanner(
            columns=list(columns),
            batch_size=batch_rows,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
        yield from scanner.to_batches()

    def _pick(self, columns: Sequence[str], stripes: Sequence[int]) -> Iterator[pa.RecordBatch]:
        for number in stripes:
            yield self._file.read_stripe(number, columns=list(columns))

    def _zone(self, columns: Sequence[str]) -> str | None:
        """The zone of the file's wall-clock times; None for UTC, or where nothing depends on it."""
        if not any(has_wall_clocks(self._found.field(name).type) for name in columns):
            return None
        tail = file_tail(self._file.reader.serialized_file_tail())
        if not tail.stripes:
            return None
        stripe = tail.stripes[0]
        self._handle.seek(stripe.footer_offset)
        part = self._handle.read(stripe.footer_length)
        return writer_zone(tail.compression.decompress(part))


class _HeldOutput:
    """What an ORC writer writes, passed on; what it writes last, held."""

    closed = False

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink, self._held = sink, bytearray()
        self._is_holding = False

    def hold(self) -> None:
        self._is_holding = True

    def held(self) -> bytes:
        return bytes(self._held)

    def write(self, data: bytes) -> int:
        if self._is_holding:
            self._held += data
        else:
            self._sink.write(data)
        return len(data)

    def tell(self) -> int:
        return int(self._sink.tell()) + len(self._held)

    def flush(self) -> None:
        """Leave it to the sink."""

    def close(self) -> None:
        """Leave it to the writer of the base file."""
