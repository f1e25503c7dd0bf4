"""Base files, written: rows as they come, the footer when the file is closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from pyhudi.basefile.bloom.filter import BloomFilter, BloomParameters
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.keys import KeyRecord
from pyhudi.basefile.orc.file import OrcEncoder, OrcWriteOptions
from pyhudi.basefile.parquet import ParquetEncoder, ParquetWriteOptions
from pyhudi.basefile.waiting import WaitingRows
from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import InvariantError
from pyhudi.schema.avro import dumps

FileEncoding = ParquetWriteOptions | OrcWriteOptions
"""How new base files are encoded, and by its type their format."""


class RowGroupEncoder(Protocol):
    """What a format makes of the rows of a file, one row group after another."""

    def write(self, tables: Sequence[pa.Table]) -> None:
        """Write a row group of these rows."""

    def finish(self, footer: FooterMetadata) -> None:
        """Write the footer, with Hudi's entries in it."""

    def abandon(self) -> None:
        """Write no footer, neither now nor later."""


class BaseFileWriter:
    """Writes one base file in the format that its encoding is of.

    Leaving the context normally closes the file, leaving it by an error abandons it.

    Shapes: tables of the schema's columns in its order; string columns may be dictionary-encoded,
        which is faster where values repeat.
    Guarantees: at most a row group of rows is held in memory; the file is none of its format before
        it is closed.
    Source: HoodieAvroParquetWriter, HoodieOrcWriter of Hudi 0.15, HoodieAvroOrcWriter of 1.1
        (footer); in Parquet lists have three levels as in Hudi's row writer, timestamps are INT64
        and decimals fixed-length as in both.
    """

    def __init__(
        self,
        sink: pa.NativeFile,
        schema: pa.Schema,
        avro_schema: dict[str, Any],
        encoding: FileEncoding,
        bloom: BloomParameters | None,
        *,
        previous_bloom: BloomFilter | None = None,
    ) -> None:
        self._sink, self._avro_schema = sink, avro_schema
        self._schema = schema.remove_metadata()
        self._keys = KeyRecord(bloom, previous_bloom)
        self._waiting = WaitingRows(
            most_rows=encoding.row_group_rows, most_bytes=encoding.row_group_bytes
        )
        self._encoder = _encoder(sink, self._schema, encoding)
        self._file_bytes: int | None = None

    def __enter__(self) -> BaseFileWriter:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self.close()
        else:
            self.abandon()

    @property
    def estimated_size(self) -> int:
        """Bytes the file would have if it were closed now, about."""
        if self._file_bytes is not None:
            return self._file_bytes
        return self._waiting.file_bytes(self._sink.tell()) + self._keys.text_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes of Arrow data that wait for their row group to be full."""
        return self._waiting.size_bytes

    @property
    def bytes_written(self) -> int:
        """Bytes of the closed file.

        Raises:
            InvariantError: the file is not closed.
        """
        if self._file_bytes is None:
            raise InvariantError("the size of a base file is known when it is closed")
        return self._file_bytes

    def write(self, rows: pa.Table | pa.RecordBatch, *, is_kept: bool = False) -> None:
        """Write the next rows; ``is_kept`` says that the previous bloom filter holds their keys.

        Raises:
            InvariantError: the columns are not those of the schema.
            RecordKeyError: a null or an empty record key.
            SchemaError: a timestamp too far from now for ORC.
        """
        table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        if table.schema.names != self._schema.names:
            raise InvariantError(
                f"rows of the columns {table.schema.names} were given to a base file of the "
                f"columns {self._schema.names}"
            )
        while table.num_rows:
            part, table = self._waiting.split(table)
            self._keys.add(part, is_kept=is_kept)
            self._waiting.add(part)
            if self._waiting.is_full:
                self.flush()

    def flush(self) -> None:
        """End the row group: write what is held."""
        self._keys.take_in()
        waiting = self._waiting.take()
        if waiting:
            self._encoder.write(waiting)

    def close(self) -> None:
        """Write what is held and the footer, and close the sink."""
        if self._file_bytes is not None:
            return
        self.flush()
        self._encoder.finish(self._keys.footer(dumps(self._avro_schema)))
        self._file_bytes = self._sink.tell()
        self._sink.close()

    def abandon(self) -> None:
        """Close the sink and leave what it holds without a footer.

        A sink that can be abandoned itself, because nothing has left it yet, is.
        """
        self._encoder.abandon()
        self._waiting.take()
        getattr(self._sink, "abandon", self._sink.close)()


def format_of(encoding: FileEncoding) -> BaseFileFormat:
    """The format of the files that an encoding makes."""
    is_orc = isinstance(encoding, OrcWriteOptions)
    return BaseFileFormat.ORC if is_orc else BaseFileFormat.PARQUET


def _encoder(sink: pa.NativeFile, schema: pa.Schema, encoding: FileEncoding) -> RowGroupEncoder:
    if isinstance(encoding, OrcWriteOptions):
        return OrcEncoder(sink, schema, encoding)
    return ParquetEncoder(sink, schema, encoding)
