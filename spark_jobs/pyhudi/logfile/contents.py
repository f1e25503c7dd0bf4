"""What data and delete blocks hold, as Arrow tables.

Source: HoodieParquetDataBlock, Hudi 0.15 and 1.1; the other kinds are cited where they are decoded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import CorruptTableError, SchemaError, UnsupportedError
from pyhudi.logfile import hfile_rows
from pyhudi.logfile.avro import rows as avro_rows
from pyhudi.logfile.deletes.blocks import Deletes, decode_deletes
from pyhudi.logfile.framing import BlockKind, HeaderKey
from pyhudi.logfile.reader import Block


def iter_rows(
    block: Block, source: pa.NativeFile, columns: Collection[str] | None = None
) -> Iterator[pa.Table]:
    """The rows of a data block in their order, some at a time.

    Shapes: those of ``columns`` that the block has, in its types; all without ``columns``.

    Raises:
        CorruptTableError: the content is not what the header says.
        UnsupportedError: a block of another kind.
    """
    match block.kind:
        case BlockKind.AVRO:
            schema, content = _schema(block), block.read(source)
            yield from avro_rows.iter_tables(content, schema, columns, where=block.where)
        case BlockKind.HFILE:
            schema, content = _schema(block), block.read(source)
            yield from hfile_rows.iter_tables(content, schema, columns, where=block.where)
        case BlockKind.PARQUET:
            yield _parquet_rows(block, source, columns)
        case _:
            raise UnsupportedError(f"{block.where} holds no rows that are read")


def read_deletes(block: Block, source: pa.NativeFile) -> Deletes:
    """The records of a delete block.

    Raises:
        CorruptTableError: the content holds none.
        UnsupportedError: a block of a release before 0.13.
    """
    return decode_deletes(block.read(source), where=block.where)


def columns_of_parts(block: Block) -> frozenset[str] | None:
    """The columns of the rows in a block that holds parts of rows; None for any other block.

    Raises:
        CorruptTableError: it does not say which columns they are.
    Source: HoodieDataBlock.containsPartialUpdates, Hudi 1.0 and 1.1.
    """
    if block.header.get(HeaderKey.IS_PARTIAL, "").lower() != "true":
        return None
    try:
        return frozenset(avro_rows.record_schema(_schema(block)).arrow.names)
    except SchemaError as error:
        raise CorruptTableError(f"{block.where} cannot be read: {error}") from error


def _schema(block: Block) -> str:
    schema = block.header.get(HeaderKey.SCHEMA)
    if schema is None:
        raise CorruptTableError(f"{block.where} has no schema")
    return schema


def _parquet_rows(block: Block, source: pa.NativeFile, columns: Collection[str] | None) -> pa.Table:
    try:
        file = pq.ParquetFile(
            pa.BufferReader(block.read(source)),
            coerce_int96_timestamp_unit="us",
            # Hudi's writer leaves a checksum with every page.
            page_checksum_verification=True,
        )
        names = file.schema_arrow.names
        wanted = [name for name in names if columns is None or name in columns]
        rows = file.read(columns=wanted, use_threads=False)
    except (pa.ArrowException, OSError, ValueError, KeyError, IndexError) as error:
        raise CorruptTableError(f"{block.where} holds no whole Parquet file: {error}") from error
    _check_names(block, names, columns)
    if rows.num_rows != file.metadata.num_rows:
        raise CorruptTableError(
            f"{block.where} holds {rows.num_rows} rows, and {file.metadata.num_rows} by its footer"
        )
    return rows.select(wanted).replace_schema_metadata(None)


def _check_names(block: Block, names: list[str], columns: Collection[str] | None) -> None:
    """Hold the names in the footer, which has no checksum, against those in the block's header.

    Raises:
        CorruptTableError: one of them is damaged.
    """
    text = block.header.get(HeaderKey.SCHEMA)
    if text is None:
        return
    try:
        stated = {field.name for field in avro_rows.record_schema(text).arrow}
    except SchemaError as error:
        raise CorruptTableError(f"{block.where} cannot be read: {error}") from error
    asked = {*stated, *names} if columns is None else {*columns}
    if contradicted := sorted(asked & (stated ^ {*names})):
        raise CorruptTableError(
            f"{block.where} has the column {contradicted[0]} either in its schema or in its "
            "Parquet file, and not in both"
        )
