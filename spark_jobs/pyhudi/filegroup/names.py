"""What the names of data files say. Pure.

Source: FSUtils, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import CorruptTableError

METADATA_FOLDER = ".hoodie"
PARTITION_METADATA_PREFIX = ".hoodie_partition_metadata"

_BUCKET_DIGITS = 8
_BASE_FILE = re.compile(r"([a-zA-Z0-9-]+)_([a-zA-Z0-9-]+)_(\d+)(\.[a-zA-Z0-9]+)")
# Java's versions are numbers of 32 bits.
_LOG_FILE = re.compile(
    r"\.([^._/]+)_([^./]*)\.log\.(\d{1,10})(?:_(\d+-\d+-\d+)(\.cdc)?)?", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileName:
    """The parts of a base file's name: file group, attempt that wrote it, instant of the write."""

    file_id: str
    write_token: str
    instant: str
    extension: str = BaseFileFormat.PARQUET.extension

    def __str__(self) -> str:
        return f"{self.file_id}_{self.write_token}_{self.instant}{self.extension}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFileName:
    """The parts of a log file's name.

    ``base_instant`` is that of the file slice in table version 6, where ``version`` counts the
    slice's log files from 1; in later versions it is that of the write, and 1 is mostly the only
    one. ``write_token`` is empty in names of very old releases. Files with ``is_cdc``
    hold change data and no rows of the table.
    """

    file_id: str
    base_instant: str
    version: int
    write_token: str
    is_cdc: bool = False

    def __str__(self) -> str:
        token = f"_{self.write_token}" if self.write_token else ""
        suffix = ".cdc" if self.is_cdc else ""
        return f".{self.file_id}_{self.base_instant}.log.{self.version}{token}{suffix}"


def file_path(partition: str, name: object) -> str:
    """The path of a data file, relative to the table; the partition is ``""`` without any."""
    return f"{partition}/{name}" if partition else str(name)


def path_to_delete(file: str, partition: str) -> str:
    """The path in its table of a file that a plan names in full, wherever the table lay then.

    Raises:
        CorruptTableError: it is no data file of the partition: a plan has no others deleted.
    """
    name = file.rpartition("/")[2]
    path = inner_path(file_path(partition, name))
    is_data = BaseFileFormat.of_file(name) is not None or parse_log_file_name(name) is not None
    if not is_data or not f"/{file}".endswith(f"/{path}"):
        raise CorruptTableError(
            f"{file[:200]!r} is to be deleted, and is no data file of the partition {partition!r}"
        )
    return path


def inner_path(path: str) -> str:
    """The path of a file beside the table's metadata, as metadata gives it.

    Raises:
        CorruptTableError: it leads out of the table, or to its metadata.
    """
    parts = path.split("/")
    if ".." in parts or parts[0] in ("", METADATA_FOLDER):
        raise CorruptTableError(f"{path[:200]!r} is no path of a data file of the table")
    return path


def hash_bucket_of(file_id: str) -> int | None:
    """The bucket of a file group in a table with the BUCKET index; None for any other file id.

    Source: BucketIdentifier.bucketIdFromFileId, Hudi 0.15 and 1.1.
    """
    digits, dash = file_id[:_BUCKET_DIGITS], file_id[_BUCKET_DIGITS : _BUCKET_DIGITS + 1]
    is_bucket = len(digits) == _BUCKET_DIGITS and digits.isascii() and digits.isdigit()
    return int(digits) if is_bucket and dash == "-" else None


def hash_bucket_file_id(bucket: int, random_prefix: str) -> str:
    """The file id of a bucket's new file group; ``random_prefix`` is that of any other's.

    Source: BucketIdentifier.newBucketFileIdPrefix, Hudi 0.15 and 1.1.
    """
    return f"{bucket:0{_BUCKET_DIGITS}d}{random_prefix[_BUCKET_DIGITS:]}-0"


def base_file_name(
    file_id: str, write_token: str, instant: str, kind: BaseFileFormat = BaseFileFormat.PARQUET
) -> str:
    """The name of a base file of this format."""
    name = BaseFileName(
        file_id=file_id, write_token=write_token, instant=instant, extension=kind.extension
    )
    return str(name)


def parse_base_file_name(name: str) -> BaseFileName | None:
    """The parts of a base file's name; None for the name of any other file."""
    found = _BASE_FILE.fullmatch(name)
    if found is None:
        return None
    file_id, token, instant, extension = found.groups()
    return BaseFileName(file_id=file_id, write_token=token, instant=instant, extension=extension)


def parse_log_file_name(name: str) -> LogFileName | None:
    """The parts of a log file's name; None for the name of any other file.

    Source: FSUtils.LOG_FILE_PATTERN, Hudi 0.15 and 1.1.
    """
    found = _LOG_FILE.fullmatch(name)
    if found is None:
        return None
    file_id, base_instant, version, token, suffix = found.groups()
    return LogFileName(
        file_id=file_id,
        base_instant=base_instant,
        version=int(version),
        write_token=token or "",
        is_cdc=suffix is not None,
    )
