"""How large files become, what they are made of, and how tasks go about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, setting


class BulkInsertSortMode(Enum):
    """How a bulk insert orders its rows.

    Source: BulkInsertSortMode, Hudi 0.15.
    """

    NONE = "NONE"
    GLOBAL_SORT = "GLOBAL_SORT"
    PARTITION_SORT = "PARTITION_SORT"


class ParquetCodec(Enum):
    """The compression of base files, as Parquet names it."""

    ZSTD = "zstd"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4_RAW = "lz4_raw"
    NONE = "none"


def _codec(text: str) -> ParquetCodec:
    is_none = text.lower() in ("", "uncompressed")
    return ParquetCodec.NONE if is_none else option.parse_enum(ParquetCodec)(text)


def _sort_mode(text: str) -> BulkInsertSortMode:
    if text.upper() in ("PARTITION_PATH_REPARTITION", "PARTITION_PATH_REPARTITION_AND_SORT"):
        # Both only arrange rows over tasks so that files hold a partition each, as these do.
        return BulkInsertSortMode.GLOBAL_SORT
    return option.parse_enum(BulkInsertSortMode)(text)


def _filter_type(text: str) -> str:
    if text.upper() not in ("SIMPLE", "DYNAMIC_V0"):
        raise ValueError("SIMPLE, DYNAMIC_V0")
    return text.upper()


def _rate(text: str) -> float:
    try:
        value = option.parse_fraction(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError("a number between 0 and 1")
    return value


MAX_FILE_SIZE = declare("hoodie.parquet.max.file.size", option.parse_positive, default=120 << 20)
"""bytes at which a base file is full"""
SMALL_FILE_LIMIT = declare("hoodie.parquet.small.file.limit", option.parse_size, default=100 << 20)
"""base files below so many bytes get inserts; 0 for none"""
RECORD_SIZE_ESTIMATE = declare(
    "hoodie.copyonwrite.record.size.estimate", option.parse_positive, default=1024
)
"""bytes of a record before commits tell"""
RECORD_SIZE_THRESHOLD = declare(
    "hoodie.record.size.estimation.threshold", option.parse_fraction, default=1.0
)
"""how many small-file limits a commit must have written to tell the size of a record"""
INSERT_SPLIT_SIZE = declare(
    "hoodie.copyonwrite.insert.split.size", option.parse_positive, default=500_000
)
"""rows of a new file group when splits are not automatic"""
INSERT_AUTO_SPLIT = declare("hoodie.copyonwrite.insert.auto.split", option.parse_bool, default=True)
"""new file groups get as many rows as fit a full file"""
CODEC = declare("hoodie.parquet.compression.codec", _codec, default=ParquetCodec.ZSTD)
"""compression of base files; Hudi's default is gzip"""
ROW_GROUP_SIZE = declare("hoodie.parquet.block.size", option.parse_positive, default=120 << 20)
"""bytes of a row group before compression"""
PAGE_SIZE = declare("hoodie.parquet.page.size", option.parse_positive, default=1 << 20)
"""bytes of a page"""
DICTIONARY = declare("hoodie.parquet.dictionary.enabled", option.parse_bool, default=True)
"""dictionary encoding where it pays"""
BLOOM_ENTRIES = declare("hoodie.index.bloom.num_entries", option.parse_positive, default=60_000)
"""keys that fill a bloom filter, or a row of a dynamic one"""
BLOOM_FPP = declare("hoodie.index.bloom.fpp", _rate, default=1e-9)
"""false-positive rate of a full bloom filter"""
BLOOM_MAX_ENTRIES = declare(
    "hoodie.bloom.index.filter.dynamic.max.entries", option.parse_positive, default=100_000
)
"""keys up to which a dynamic bloom filter grows"""
BLOOM_TYPE = declare("hoodie.bloom.index.filter.type", _filter_type, default="DYNAMIC_V0")
"""kind of bloom filter in footers"""
SORT_MODE = declare("hoodie.bulkinsert.sort.mode", _sort_mode, default=BulkInsertSortMode.NONE)
"""how a bulk insert orders its rows"""
BULK_INSERT_PARALLELISM = declare(
    "hoodie.bulkinsert.shuffle.parallelism", option.parse_int, default=0
)
"""tasks of a sorted bulk insert; 0 for as many as fill base files"""
HEARTBEAT_INTERVAL = declare(
    "hoodie.client.heartbeat.interval_in_ms", option.parse_positive, default=60_000
)
"""milliseconds between two heartbeats of a writer"""
HEARTBEAT_MISSES = declare(
    "hoodie.client.heartbeat.tolerable.misses", option.parse_positive, default=2
)
"""heartbeats a live writer may miss"""
_WAIT_S: float = 900
WAIT_SECONDS = declare(
    "pyhudi.write.wait.seconds", option.parse_fraction, default=_WAIT_S, since="pyhudi"
)
"""seconds that a write or compaction waits in all for other writers of the table, which go first in
the order in which they came; then it fails, and can be tried again; 0 fails at once"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSizing:
    """When a base file is full, and when it is small enough to get inserts.

    ``small_file_candidates`` is how many files of a partition get inserts at most, None for all.

    Units: sizes in bytes, splits in rows, ``record_size_threshold`` in small-file limits.
    """

    max_file_size: int = setting(MAX_FILE_SIZE)
    small_file_limit: int = setting(SMALL_FILE_LIMIT)
    record_size_estimate: int = setting(RECORD_SIZE_ESTIMATE)
    record_size_threshold: float = setting(RECORD_SIZE_THRESHOLD)
    insert_split_size: int = setting(INSERT_SPLIT_SIZE)
    insert_auto_split: bool = setting(INSERT_AUTO_SPLIT)
    small_file_candidates: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetConfig:
    """How base files are encoded.

    Units: sizes in bytes.
    """

    codec: ParquetCodec = setting(CODEC)
    row_group_size: int = setting(ROW_GROUP_SIZE)
    page_size: int = setting(PAGE_SIZE)
    dictionary: bool = setting(DICTIONARY)


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomConfig:
    """The bloom filters of footers."""

    num_entries: int = setting(BLOOM_ENTRIES)
    fpp: float = setting(BLOOM_FPP)
    max_entries: int = setting(BLOOM_MAX_ENTRIES)
    type: str = setting(BLOOM_TYPE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkInsertConfig:
    """How a bulk insert orders and spreads its rows; ``parallelism`` 0 follows the size."""

    sort_mode: BulkInsertSortMode = setting(SORT_MODE)
    parallelism: int = setting(BULK_INSERT_PARALLELISM)

    @property
    def is_sorted(self) -> bool:
        """Whether rows are put into an order of their own."""
        return self.sort_mode is not BulkInsertSortMode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatConfig:
    """How often a writer shows that it lives, and how often it may fail to."""

    interval_ms: int = setting(HEARTBEAT_INTERVAL)
    tolerable_misses: int = setting(HEARTBEAT_MISSES)

    @property
    def expires_ms(self) -> int:
        """How old the heartbeat of a live writer may be; one that is older is that of a dead one.

        Units: milliseconds.
        """
        return self.interval_ms * self.tolerable_misses


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitConfig:
    """How long to wait for other writers.

    Units: seconds.
    """

    seconds: float = setting(WAIT_SECONDS)
