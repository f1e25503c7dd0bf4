"""Base files of any format behind one interface: which format it is, a file's name says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from pyhudi.basefile.bloom import BloomFilter, BloomParameters
from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.orc.file import OrcReader, OrcWriteOptions, OrcWriter
from pyhudi.basefile.parquet import ParquetReader, ParquetWriteOptions, ParquetWriter
from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import UnsupportedError

FileEncoding = ParquetWriteOptions | OrcWriteOptions
"""How new base files are encoded, and by its type their format."""


class BaseFileReader(Protocol):
    """One base file, opened for reading.

    A row group is what the format cuts a file's rows into: ORC calls it a stripe.
    """

    @property
    def num_rows(self) -> int:
        """Rows of the file."""

    @property
    def row_groups(self) -> int:
        """Row groups of the file."""

    @property
    def schema(self) -> pa.Schema:
        """The columns in the types they are read in, dictionaries aside."""

    @property
    def footer(self) -> FooterMetadata:
        """Hudi's entries of the footer."""

    def iter_tables(
        self,
        columns: Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
        *,
        batch_rows: int = ...,
        keep_dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """Read the rows in file order, some at a time.

        With ``keep_dictionaries`` string columns may come dictionary-encoded, if that spares work.

        Shapes: the columns asked for that the file has, in the order asked, or all in file order;
            at most ``batch_rows`` rows, in one chunk.
        """

    def matching_row_groups(self, condition: RowCondition) -> list[int]:
        """The row groups that can hold rows which meet a condition, going by statistics."""


class BaseFileWriter(Protocol):
    """One base file that is being written: rows as they come, the footer when it is closed."""

    num_rows: int

    @property
    def estimated_size(self) -> int:
        """Bytes the file would have if it were closed now, about."""

    @property
    def held_bytes(self) -> int:
        """Bytes of Arrow data that wait for their row group to be full."""

    @property
    def bytes_written(self) -> int:
        """Bytes of the closed file."""

    def write(self, rows: pa.Table | pa.RecordBatch, *, is_kept: bool = False) -> None:
        """Write the next rows; ``is_kept`` says that the previous bloom filter holds their keys."""

    def flush(self) -> None:
        """End the row group: write what is held."""

    def close(self) -> None:
        """Write what is held and the footer, and close the sink."""

    def abandon(self) -> None:
        """Close the sink and leave what it holds without a footer."""


def open_base_file(source: pa.NativeFile, *, name: str) -> BaseFileReader:
    """Read a base file; ``name`` tells its format and is what errors call it.

    Raises:
        CorruptTableError: it is no file of the format its name says.
        UnsupportedError: a format that is not read here.
    """
    match BaseFileFormat.of_file(name):
        case BaseFileFormat.PARQUET:
            return ParquetReader(source, name=name)
        case BaseFileFormat.ORC:
            return OrcReader(source, name=name)
    raise UnsupportedError(f"{name} is neither a Parquet nor an ORC file")


def new_base_file(
    sink: pa.NativeFile,
    schema: pa.Schema,
    avro_schema: dict[str, Any],
    encoding: FileEncoding,
    bloom: BloomParameters | None,
    *,
    previous_bloom: BloomFilter | None = None,
) -> BaseFileWriter:
    """Begin a base file in the format that its encoding is of."""
    if isinstance(encoding, OrcWriteOptions):
        return OrcWriter(sink, schema, avro_schema, encoding, bloom, previous_bloom=previous_bloom)
    return ParquetWriter(sink, schema, avro_schema, encoding, bloom, previous_bloom=previous_bloom)


def format_of(encoding: FileEncoding) -> BaseFileFormat:
    """The format of the files that an encoding makes."""
    is_orc = isinstance(encoding, OrcWriteOptions)
    return BaseFileFormat.ORC if is_orc else BaseFileFormat.PARQUET
