"""The versions of the table format, and what each implies."""

from __future__ import annotations

from enum import IntEnum

from pyhudi.errors import UnsupportedError


class TimelineLayout(IntEnum):
    """How the timeline lies on disk: where its files are and what their names say."""

    ONE = 1
    TWO = 2


class TableVersion(IntEnum):
    """The version of a table's format, by its code in ``hoodie.table.version``.

    Source: HoodieTableVersion, Hudi 1.1: 6 since release 0.14, 8 since 1.0, 9 since 1.1.
    """

    SIX = 6
    EIGHT = 8
    NINE = 9

    @classmethod
    def of(cls, code: str) -> TableVersion:
        """The version of a code.

        Raises:
            UnsupportedError: older than 6, newer than 9, or 7, which no release writes.
        """
        for version in cls:
            if code.strip() == str(version.value):
                return version
        raise UnsupportedError(
            f"the table has format version {code!r}; versions 6, 8 and 9 are known. Let the Hudi "
            "release that wrote it upgrade or downgrade it."
        )

    @property
    def is_written(self) -> bool:
        """Whether every kind of table of this version is made and written here.

        Of others not all are, see ``why_not_written``.
        """
        return self is TableVersion.SIX

    @property
    def logs_name_their_write(self) -> bool:
        """Whether a log file's name has the instant of the write that made it.

        In version 6 it has that of the file slice, and writes count the files of a slice on.

        Source: FSUtils.makeLogFileName, Hudi 0.15; HoodieLogFormat.WriterBuilder, Hudi 1.0 and 1.1.
        """
        return self is not TableVersion.SIX

    @property
    def has_record_positions(self) -> bool:
        """Whether log blocks of such a table may say where their records lie in the base file."""
        return self is not TableVersion.SIX

    @property
    def names_merge_mode(self) -> bool:
        """Whether the merge mode of such a table stands in its properties, by its name."""
        return self is not TableVersion.SIX

    @property
    def timeline_layout(self) -> TimelineLayout:
        """How the timeline of such a table lies on disk."""
        return TimelineLayout.ONE if self is TableVersion.SIX else TimelineLayout.TWO
