"""Base files and their rows with meta columns."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.orc.file import OrcWriteOptions
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.basefile.writer import BaseFileWriter
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.metafields import with_meta, with_meta_avro

DATA = pa.schema([("id", pa.string()), ("n", pa.int64())])
AVRO = with_meta_avro(arrow_to_avro(DATA, "t"))
SMALL_BLOOM = BloomParameters(num_entries=50, max_entries=100)


def rows_from(start: int, stop: int) -> pa.Table:
    """Rows numbered from ``start``, as a write of one file has them."""
    count = stop - start
    return pa.table(
        {
            "_hoodie_commit_time": pa.array(["20260102030405678"] * count).dictionary_encode(),
            "_hoodie_commit_seqno": [f"20260102030405678_0_{i}" for i in range(start, stop)],
            "_hoodie_record_key": [f"k{i}" for i in range(start, stop)],
            "_hoodie_partition_path": ["north"] * count,
            "_hoodie_file_name": pa.array(["f.parquet"] * count).dictionary_encode(),
            "id": [f"k{i}" for i in range(start, stop)],
            "n": range(start, stop),
        }
    )


def written(
    tables: Sequence[pa.Table | pa.RecordBatch],
    options: ParquetWriteOptions | OrcWriteOptions,
    schema: pa.Schema = DATA,
    bloom: BloomParameters | None = SMALL_BLOOM,
) -> pa.Buffer:
    """The bytes of a file of these tables, whose own columns are those of the schema."""
    sink, avro = pa.BufferOutputStream(), with_meta_avro(arrow_to_avro(schema, "t"))
    with BaseFileWriter(sink, with_meta(schema), avro, options, bloom) as writer:
        for table in tables:
            writer.write(table)
    return sink.getvalue()


def spoil(path: Path, column: str | None = None, row_group: int | None = None) -> None:
    """Overwrite the pages of a Parquet file, so that whoever reads them fails.

    Those of one column and of one row group, or of all.
    """
    metadata = pq.read_metadata(path)
    data = bytearray(path.read_bytes())
    for number in range(metadata.num_row_groups) if row_group is None else [row_group]:
        group = metadata.row_group(number)
        for chunk in map(group.column, range(group.num_columns)):
            if column in (None, chunk.path_in_schema):
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                size = chunk.total_compressed_size
                data[start : start + size] = b"\xff" * size
    path.write_bytes(bytes(data))
