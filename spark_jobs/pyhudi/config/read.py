"""What is asked of a table when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from pyhudi.config import option
from pyhudi.config.instant_text import normalise_instant
from pyhudi.config.option import declare, part, read_settings, setting
from pyhudi.config.options.logs import MERGE_MEMORY, MergeMemory
from pyhudi.config.options.merging import CUSTOM_MERGER
from pyhudi.errors import OptionError

_EARLIEST = ("earliest", "000")


class QueryType(Enum):
    """Which view of a table a query gives.

    Source: DataSourceReadOptions.QUERY_TYPE, Hudi 0.15; change data is its incremental format
    ``cdc``.
    """

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"
    CDC = "cdc"


def _begin(text: str) -> str:
    # Below every instant there is.
    return "000" if text.lower() in _EARLIEST else normalise_instant(text)


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
AS_OF = declare("as.of.instant", normalise_instant, default=None)
"""the instant to read the table as of"""
BEGIN = declare("hoodie.datasource.read.begin.instanttime", _begin, default=None)
"""the instant after which an incremental query starts"""
END = declare("hoodie.datasource.read.end.instanttime", normalise_instant, default=None)
"""the last instant of an incremental query"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadConfig:
    """A query; instants are in the digits that they are compared by.

    ``custom_merger`` is the class path of a merger in Python that may be run, ``memory`` the room
    that the log records of a file slice have.
    """

    query_type: QueryType = setting(QUERY_TYPE)
    as_of: str | None = setting(AS_OF)
    begin: str | None = setting(BEGIN)
    end: str | None = setting(END)
    custom_merger: str | None = setting(CUSTOM_MERGER)
    memory: MergeMemory = part(MergeMemory)

    @classmethod
    def of(
        cls,
        *,
        query_type: str = "snapshot",
        as_of: str | None = None,
        begin: str | None = None,
        end: str | None = None,
        custom_merger: str | None = None,
        merge_memory: int | None = None,
    ) -> ReadConfig:
        """The query that these texts ask for.

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
            MERGE_MEMORY.key: None if merge_memory is None else str(merge_memory),
        }
        return cls.from_options({key: text for key, text in given.items() if text is not None})

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ReadConfig:
        """The query that Hudi's read options ask for.

        Raises:
            OptionError: as ``of``.
        """
        query, changes = read_settings(cls, options), INCREMENTAL_FORMAT.read(options)
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
