"""How new base files are encoded: what options say, within what a task's memory allows. Pure."""

from __future__ import annotations

from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.orc.file import OrcWriteOptions
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.basefile.writer import FileEncoding
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.write import BloomConfig, WriteConfig

# Hudi's default for a row group, 120 MB of encoded pages, would be far more rows in memory.
_MOST_ROW_GROUP_BYTES = ParquetWriteOptions().row_group_bytes
_MOST_STRIPE_BYTES = OrcWriteOptions().row_group_bytes


def file_encoding(config: WriteConfig, kind: BaseFileFormat) -> FileEncoding:
    """The encoding of base files of this format."""
    if kind is BaseFileFormat.ORC:
        return OrcWriteOptions(
            codec=config.orc.codec.value,
            row_group_bytes=min(config.orc.stripe_size, _MOST_STRIPE_BYTES),
        )
    return parquet_encoding(config)


def parquet_encoding(config: WriteConfig) -> ParquetWriteOptions:
    """The encoding of Parquet, in base files and in log blocks."""
    return ParquetWriteOptions(
        codec=config.parquet.codec.value.lower(),
        row_group_bytes=min(config.parquet.row_group_size, _MOST_ROW_GROUP_BYTES),
        page_bytes=config.parquet.page_size,
        dictionary=config.parquet.dictionary,
    )


def bloom_parameters(config: BloomConfig) -> BloomParameters:
    """The bloom filters of new base files."""
    return BloomParameters(
        num_entries=config.num_entries,
        fpp=config.fpp,
        max_entries=config.max_entries,
        type=config.type,
    )


def full_file_bytes(config: WriteConfig, kind: BaseFileFormat) -> int:
    """Bytes at which a base file of this format is full.

    Not: how many rows are assigned to a file group, for which Hudi takes the Parquet option always.

    Source: HoodieOrcConfig, UpsertPartitioner, Hudi 0.15 and 1.1.
    """
    is_orc = kind is BaseFileFormat.ORC
    return config.orc.max_file_size if is_orc else config.sizing.max_file_size
