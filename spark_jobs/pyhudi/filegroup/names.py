"""What the names of data files say. Pure.

Source: FSUtils, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PARTITION_METADATA_PREFIX = ".hoodie_partition_metadata"
PARQUET = ".parquet"

_BASE_FILE = re.compile(r"([a-zA-Z0-9-]+)_([a-zA-Z0-9-]+)_(\d+)(\.[a-zA-Z0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileName:
    """The parts of a base file's name: file group, attempt that wrote it, instant of the write."""

    file_id: str
    write_token: str
    instant: str
    extension: str = PARQUET

    def __str__(self) -> str:
        return f"{self.file_id}_{self.write_token}_{self.instant}{self.extension}"


def base_file_name(file_id: str, write_token: str, instant: str) -> str:
    """The name of a Parquet base file."""
    return str(BaseFileName(file_id=file_id, write_token=write_token, instant=instant))


def parse_base_file_name(name: str) -> BaseFileName | None:
    """The parts of a base file's name; None for the name of any other file."""
    found = _BASE_FILE.fullmatch(name)
    if found is None:
        return None
    file_id, token, instant, extension = found.groups()
    return BaseFileName(file_id=file_id, write_token=token, instant=instant, extension=extension)
