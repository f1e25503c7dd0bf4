"""How log files are written, and how much memory merging them may take."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from pyhudi.config import option
from pyhudi.config.option import declare, setting


class LogDataFormat(Enum):
    """What the rows in a log block are written as."""

    AVRO = "avro"
    PARQUET = "parquet"


LOG_DATA_FORMAT = declare(
    "hoodie.logfile.data.block.format", option.parse_enum(LogDataFormat), default=LogDataFormat.AVRO
)
"""what the rows in a log block are written as"""
LOG_BLOCK_SIZE = declare(
    "hoodie.logfile.data.block.max.size", option.parse_positive, default=256 << 20
)
"""bytes of rows after which a log block ends"""
LOG_FILE_SIZE = declare("hoodie.logfile.max.size", option.parse_positive, default=1 << 30)
"""bytes after which the next block begins another log file"""
RECORD_POSITIONS = declare(
    "hoodie.write.record.positions", option.parse_bool, default=True, since="1.0"
)
"""log blocks say where their records lie in the base file, in tables of version 8 and later"""
SMALL_FILE_CANDIDATES = declare(
    "hoodie.merge.small.file.group.candidates.limit", option.parse_positive, default=1
)
"""file groups of a partition of a merge-on-read table that get inserts, at most"""

MERGE_MEMORY = declare("hoodie.memory.merge.max.size", option.parse_size, default=1 << 30)
"""bytes of log records that one file slice holds in memory while it is merged; what goes beyond
waits on disk"""
SPILL_FOLDER = declare("hoodie.memory.spillable.map.path", option.parse_optional_text, default=None)
"""folder for what waits on disk; the system's folder for temporary files when absent"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """How log files are written.

    Units: sizes in bytes.
    """

    data_format: LogDataFormat = setting(LOG_DATA_FORMAT)
    block_size: int = setting(LOG_BLOCK_SIZE)
    file_size: int = setting(LOG_FILE_SIZE)
    small_file_candidates: int = setting(SMALL_FILE_CANDIDATES)
    record_positions: bool = setting(RECORD_POSITIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeMemory:
    """The room that the log records of one file slice have.

    Units: ``limit_bytes`` bytes, as Arrow counts what columns hold.
    Source: HoodieMemoryConfig.MAX_MEMORY_FOR_MERGE and SPILLABLE_MAP_BASE_PATH, Hudi 0.15 and 1.1
    (where the limit is that of the map of one file group's log records).
    """

    limit_bytes: int = setting(MERGE_MEMORY)
    folder: str | None = setting(SPILL_FOLDER)


DEFAULT_MEMORY: Final = MergeMemory()
