"""How the log files of a table are merged for a query: settled before any is read."""

from __future__ import annotations

import pyarrow as pa

from pyhudi.config.options.merging import CUSTOM_MERGER, MergeMode
from pyhudi.config.read import QueryType, ReadConfig
from pyhudi.config.table import TableConfig
from pyhudi.errors import OptionError
from pyhudi.merge.custom import load_merger
from pyhudi.table.log_merge import LogMerge, log_merge
from pyhudi.table.table import Table


def plan_merge(
    table: Table, schema: pa.Schema, query: ReadConfig, *, as_of: str | None
) -> LogMerge:
    """How the log files of a table are merged for a query, now or as of an instant.

    Raises:
        UnsupportedError: records are merged by a rule that is not followed here.
        OptionError: they are merged by a Python class that the query does not name, or that is not
            there.
    """
    config = table.config
    if config.merge_mode is MergeMode.CUSTOM:
        _check_merger(config, query, table.storage.uri)
    begin = query.begin if query.query_type is QueryType.INCREMENTAL else None
    return log_merge(table, schema, as_of=as_of, begin=begin, memory=query.memory)


def _check_merger(config: TableConfig, query: ReadConfig, where: str) -> None:
    # A class that a file of the table names is run only when the caller names it too.
    if query.custom_merger is None or query.custom_merger != config.custom_merger:
        raise OptionError(
            f"the log files of table {config.name} are merged by the Python class "
            f"{config.custom_merger}, and the query names {query.custom_merger or 'none'}; give "
            f"custom_merger={config.custom_merger!r} ({CUSTOM_MERGER.key}), or read the base files "
            "alone with query_type='read_optimized'",
            where=where,
        )
    load_merger(query.custom_merger)
