"""What is asked of a table when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from typing import Any, Final

from pyhudi.config import option
from pyhudi.config.instant_text import AskedInstant, instant_option
from pyhudi.config.option import Option, declare, option_texts, part, read_settings, setting
from pyhudi.config.options.logs import MERGE_MEMORY, SPILL_FOLDER, MergeMemory
from pyhudi.config.options.merging import CUSTOM_MERGER
from pyhudi.config.options.table import TimelineZone
from pyhudi.errors import OptionError

EARLIEST: Final = "000"
"""The digits of a begin below every instant there is."""


class QueryType(Enum):
    """Which view of a table a query gives.

    Source: DataSourceReadOptions.QUERY_TYPE, Hudi 0.15; change data is its incremental format
    ``cdc``.
    """

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"
    CDC = "cdc"


def _begin(text: str) -> AskedInstant:
    is_earliest = text.lower() in ("earliest", EARLIEST)
    return AskedInstant(digits=EARLIEST) if is_earliest else instant_option(text)


def _incremental_format(text: str) -> str:
    if text.lower() not in ("latest_state", "cdc"):
        raise ValueError("latest_state, cdc")
    return text.lower()


QUERY_TYPE = declare(
    "hoodie.datasource.query.type",
    option.parse_enum(QueryType),
    default=QueryType.SNAPSHOT,
    aliases=("hoodie.datasource.view.type",),
)
"""which view of the table to give; cdc is not given yet"""
INCREMENTAL_FORMAT = declare(
    "hoodie.datasource.query.incremental.format", _incremental_format, default="latest_state"
)
"""rows as they are (latest_state) or their changes (cdc) in an incremental query"""
AS_OF = declare("as.of.instant", instant_option, default=None)
"""the instant to read the table as of: what was committed by then"""
BEGIN = declare("hoodie.datasource.read.begin.instanttime", _begin, default=None)
"""the instant after which an incremental query starts"""
END = declare("hoodie.datasource.read.end.instanttime", instant_option, default=None)
"""the last instant of an incremental query"""
SKIP_DAMAGED = declare("pyhudi.read.skip.damaged", option.parse_bool, default=False, since="pyhudi")
"""read on where a file or log block that was committed is gone or damaged, as Hudi does: rows of
it are missing then, or older ones come back; writes and compactions that read on make it last"""

WHAT_TO_DO: Final = (
    f"Restore the file from a backup, or take what is left, as Hudi does: {SKIP_DAMAGED.key}=true"
)
"""What errors say of a file that is damaged."""

OPTIONS: tuple[Option[Any], ...] = (
    QUERY_TYPE,
    INCREMENTAL_FORMAT,
    AS_OF,
    BEGIN,
    END,
    CUSTOM_MERGER,
    MERGE_MEMORY,
    SPILL_FOLDER,
    SKIP_DAMAGED,
)
"""All that a read follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    """A query; instants are in the digits that the table's own are compared by.

    ``custom_merger`` is the class path of a merger in Python that may be run, ``memory`` the room
    that the log records of a file slice have. With ``skip_damaged`` files and log blocks that were
    committed and are gone or damaged are passed over, as Hudi does.
    """

    query_type: QueryType = setting(QUERY_TYPE)
    as_of: str | None = None
    begin: str | None = None
    end: str | None = None
    custom_merger: str | None = setting(CUSTOM_MERGER)
    memory: MergeMemory = part(MergeMemory)
    skip_damaged: bool = setting(SKIP_DAMAGED)

    @classmethod
    def of(  # noqa: PLR0913 - one keyword for each thing a query can say
        cls,
        *,
        query_type: str = "snapshot",
        as_of: str | date | None = None,
        begin: str | date | None = None,
        end: str | date | None = None,
        custom_merger: str | None = None,
        merge_memory: int | None = None,
        skip_damaged: bool = False,
        zone: TimelineZone = TimelineZone.LOCAL,
    ) -> ReadConfig:
        """The query that these ask for, of a table whose timeline is in this zone.

        Raises:
            OptionError: an unknown query type, a text that is no instant, or instants that do not
                belong to such a query.
        """
        given = {
            QUERY_TYPE.key: query_type,
            AS_OF.key: as_of,
            BEGIN.key: begin,
            END.key: end,
            CUSTOM_MERGER.key: custom_merger,
            MERGE_MEMORY.key: merge_memory,
            SKIP_DAMAGED.key: skip_damaged,
        }
        return cls.from_options(option_texts(given), zone=zone)

    @classmethod
    def from_options(
        cls, options: Mapping[str, str], *, zone: TimelineZone = TimelineZone.LOCAL
    ) -> ReadConfig:
        """The query that Hudi's read options ask for, of a table whose timeline is in this zone.

        Raises:
            OptionError: as ``of``.
        """
        asked = AS_OF.read(options), BEGIN.read(options), END.read(options)
        as_of, begin, end = (each and each.on(zone) for each in asked)
        query = read_settings(cls, options, as_of=as_of, begin=begin, end=end)
        changes = INCREMENTAL_FORMAT.read(options)
        if query.query_type is QueryType.INCREMENTAL and changes == "cdc":
            query = replace(query, query_type=QueryType.CDC)
        query._check()
        return query

    def _check(self) -> None:
        has_range = self.begin is not None or self.end is not None
        is_ranged = self.query_type in (QueryType.INCREMENTAL, QueryType.CDC)
        if has_range and not is_ranged:
            raise OptionError(
                f"begin and end belong to an incremental query, and this one is "
                f"{self.query_type.value}; use as_of for the table as it was"
            )
        if self.as_of is not None and is_ranged:
            raise OptionError(
                f"as_of does not belong to a query of type {self.query_type.value}; "
                "use begin and end"
            )
