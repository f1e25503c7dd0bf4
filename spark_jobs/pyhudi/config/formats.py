"""The formats of base files, and how ORC files are encoded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, setting


class BaseFileFormat(Enum):
    """A columnar format that base files have.

    Source: HoodieFileFormat, Hudi 0.15.
    """

    PARQUET = "PARQUET"
    ORC = "ORC"

    @property
    def extension(self) -> str:
        """How the names of such files end, dot included."""
        return f".{self.value.lower()}"

    @property
    def title(self) -> str:
        """What such files are called in messages."""
        return "ORC" if self is BaseFileFormat.ORC else "Parquet"

    @classmethod
    def of_file(cls, name: str) -> BaseFileFormat | None:
        """The format that a file's name or path tells; None for no base file."""
        return next((each for each in cls if name.endswith(each.extension)), None)


class OrcCodec(Enum):
    """The compression of ORC files, as ORC names it."""

    ZLIB = "zlib"
    ZSTD = "zstd"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    NONE = "none"


_parse_format = option.parse_enum(BaseFileFormat, not_done=("hfile", "hoodie_log", "lance"))


def _format(text: str) -> BaseFileFormat | None:
    return _parse_format(text) if text else None


BASE_FILE_FORMAT = declare(
    "hoodie.table.base.file.format",
    _format,
    default=None,
    aliases=("hoodie.base.file.format", "hoodie.table.ro.file.format"),
)
"""format of the base files of a new table; PARQUET when none is given"""
ORC_MAX_FILE_SIZE = declare("hoodie.orc.max.file.size", option.parse_positive, default=120 << 20)
"""bytes at which an ORC base file is full"""
ORC_STRIPE_SIZE = declare("hoodie.orc.stripe.size", option.parse_positive, default=64 << 20)
"""bytes of a stripe before encoding"""
ORC_CODEC = declare(
    "hoodie.orc.compression.codec", option.parse_enum(OrcCodec), default=OrcCodec.ZLIB
)
"""compression of ORC base files"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrcConfig:
    """How ORC base files are encoded.

    Units: sizes in bytes.
    """

    max_file_size: int = setting(ORC_MAX_FILE_SIZE)
    stripe_size: int = setting(ORC_STRIPE_SIZE)
    codec: OrcCodec = setting(ORC_CODEC)
