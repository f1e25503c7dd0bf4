"""How log files are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import Option, declare


class LogDataFormat(Enum):
    """What the rows in a log block are written as."""

    AVRO = "avro"
    PARQUET = "parquet"


LOG_DATA_FORMAT = declare(
    Option(
        key="hoodie.logfile.data.block.format",
        parse=option.parse_enum(LogDataFormat),
        default=LogDataFormat.AVRO,
        doc="what the rows in a log block are written as",
    )
)
LOG_BLOCK_SIZE = declare(
    Option(
        key="hoodie.logfile.data.block.max.size",
        parse=option.parse_positive,
        default=256 << 20,
        doc="bytes of rows after which a log block ends",
    )
)
LOG_FILE_SIZE = declare(
    Option(
        key="hoodie.logfile.max.size",
        parse=option.parse_positive,
        default=1 << 30,
        doc="bytes after which the next block begins another log file",
    )
)
SMALL_FILE_CANDIDATES = declare(
    Option(
        key="hoodie.merge.small.file.group.candidates.limit",
        parse=option.parse_positive,
        default=1,
        doc="file groups of a partition of a merge-on-read table that get inserts, at most",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """How log files are written.

    Units: sizes in bytes.
    """

    data_format: LogDataFormat = LOG_DATA_FORMAT.default
    block_size: int = LOG_BLOCK_SIZE.default
    file_size: int = LOG_FILE_SIZE.default
    small_file_candidates: int = SMALL_FILE_CANDIDATES.default

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> LogConfig:
        """How options ask for them."""
        return cls(
            data_format=LOG_DATA_FORMAT.read(options),
            block_size=LOG_BLOCK_SIZE.read(options),
            file_size=LOG_FILE_SIZE.read(options),
            small_file_candidates=SMALL_FILE_CANDIDATES.read(options),
        )
