"""What every task of one write must know, as values that travel to the workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.basefile.writer import FileEncoding
from pyhudi.config.options.logs import LogConfig
from pyhudi.config.versions import TableVersion
from pyhudi.keys.generators import KeyGenerator
from pyhudi.merge.rule import MergeRule
from pyhudi.runner.task import Tell, tell_nobody
from pyhudi.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """One write, as its tasks see it.

    ``version`` is that of the table, which says how log files are named.
    ``schema`` is the table's schema with the meta columns first, and ``avro_schema`` the same in
    Avro. ``drops_stored`` leaves out rows whose key the table has.
    With ``generates_keys`` incoming keys lack the instant before them. ``virtual_keys`` makes the
    keys of stored rows where the files keep none; such files have no bloom filter either. ``logs``
    says how log files are written, and ``log_encoding`` how Parquet is within them. New rows that
    are written are told to ``tell``, by the path of their file.
    """

    storage: Storage
    version: TableVersion
    instant: str
    schema: pa.Schema
    avro_schema: dict[str, Any]
    encoding: FileEncoding
    bloom: BloomParameters | None
    max_file_size_bytes: int
    rule: MergeRule
    combine_batch: bool
    is_concatenating: bool = False
    is_deleting: bool = False
    drops_stored: bool = False
    generates_keys: bool = False
    virtual_keys: KeyGenerator | None = None
    logs: LogConfig = field(default_factory=LogConfig)
    log_encoding: ParquetWriteOptions = field(default_factory=ParquetWriteOptions)
    tell: Tell = tell_nobody

    @property
    def has_meta_columns(self) -> bool:
        """Whether the meta columns of the files are filled."""
        return self.virtual_keys is None
