"""What every task of one write must know, as values that travel to the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyhudi.basefile.bloom import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteJob:
    """One write, as its tasks see it.

    ``schema`` is the table's schema with the meta columns first, and ``avro_schema`` the same in
    Avro. ``ordering_field`` is None when the table merges by commit time.
    """

    storage: Storage
    instant: str
    schema: pa.Schema
    avro_schema: dict[str, Any]
    parquet: ParquetWriteOptions
    bloom: BloomParameters
    max_file_size_bytes: int
    ordering_field: str | None
    combine_batch: bool
    is_concatenating: bool = False
    is_deleting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdentity:
    """Which attempt of which task is writing; its token tells the files of attempts apart."""

    partition_id: int
    stage_id: int
    attempt_id: int

    @property
    def write_token(self) -> str:
        """The middle part of a base file's name.

        Source: FSUtils.makeWriteToken, Hudi 0.15.
        """
        return f"{self.partition_id}-{self.stage_id}-{self.attempt_id}"
