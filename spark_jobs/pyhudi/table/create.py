"""Which tables are written here, and how a new one is made: its .hoodie folder and properties."""

from __future__ import annotations

from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.options.merging import MergeMode
from pyhudi.config.table import TableConfig
from pyhudi.storage.storage import Storage
from pyhudi.table.properties_file import create_properties

_FORMATS = frozenset(each.value for each in BaseFileFormat)
_FOLDERS = (
    ".hoodie/.aux/.bootstrap/.partitions",
    ".hoodie/.aux/.bootstrap/.fileids",
    ".hoodie/.schema",
    ".hoodie/.temp",
)


def create_table(storage: Storage, config: TableConfig) -> TableConfig:
    """Lay down an empty table and give its configuration as it will be read.

    Guarantees: the properties come last, and with them the table; of several creators one
        succeeds.

    Raises:
        AlreadyExistsError: another table is there.
        UnsupportedError: a kind of table that cannot be made in its version.
    Source: HoodieTableMetaClient.initTableAndGetMetaClient, Hudi 0.15 and 1.1 (folders).
    """
    made = TableConfig.from_properties(config.to_properties(), where=storage.uri)
    for folder in (*_FOLDERS, made.archive_path):
        storage.make_dir(folder)
    create_properties(storage, made)
    return made


def file_of_others(storage: Storage) -> str | None:
    """A file in a folder that is no table; None where a table can be made.

    Folders that hold nothing else do not count, nor what is hidden or marks something: names that
    begin with a dot, files whose names begin with ``_`` (``_SUCCESS``) or end with ``_$folder$``.
    """
    found = _first_file(storage, "")
    # Whoever made a table here meanwhile began with this folder, and its files are no others'.
    return None if found is None or storage.exists(".hoodie") else found


def _first_file(storage: Storage, folder: str) -> str | None:
    entries = [entry for entry in storage.list(folder) if not entry.name.startswith(".")]
    for entry in entries:
        if not entry.is_dir and not _is_marker(entry.name):
            return entry.path
    inner = (_first_file(storage, entry.path) for entry in entries if entry.is_dir)
    return next((found for found in inner if found is not None), None)


def _is_marker(name: str) -> bool:
    return name.startswith("_") or name.endswith("_$folder$")


def why_not_written(config: TableConfig) -> str | None:
    """What about a table keeps it from being written, in words; None for nothing.

    Raises:
        UnsupportedError: records merged by a rule that is not followed here.
    """
    reason = why_not_undone(config)
    if reason is not None or config.version.is_written:
        return reason
    if config.merge_mode is MergeMode.CUSTOM:
        return f"{_versioned(config)} and merges by {config.merge_mode.value}"
    return None


def why_not_undone(config: TableConfig) -> str | None:
    """What about a table keeps its writes from being taken back, in words; None for nothing."""
    return "keeps change data" if config.cdc_enabled else why_not_cleaned(config)


def why_not_cleaned(config: TableConfig) -> str | None:
    """What about a table keeps its old files from being deleted, in words; None for nothing."""
    kind = config.base_file_format
    return None if kind in _FORMATS else f"has {kind} base files"


def _versioned(config: TableConfig) -> str:
    return f"has table version {config.version.value}"
