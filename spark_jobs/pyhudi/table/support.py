"""Which tables are written here."""

from __future__ import annotations

from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.table import TableConfig

_FORMATS = frozenset(each.value for each in BaseFileFormat)


def why_not_written(config: TableConfig) -> str | None:
    """What about a table keeps it from being written, in words; None for nothing."""
    refusals = (
        (not config.version.is_written, f"has table version {config.version.value}"),
        (config.base_file_format not in _FORMATS, f"has {config.base_file_format} base files"),
        (config.cdc_enabled, "keeps change data"),
        (config.bootstrap_base_path is not None, "was bootstrapped"),
    )
    return next((what for applies, what in refusals if applies), None)
