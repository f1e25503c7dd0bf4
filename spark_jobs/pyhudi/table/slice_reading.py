"""How the file slices of a table are read, as its own settings say."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pyhudi.config.options.logs import DEFAULT_MEMORY, MergeMemory
from pyhudi.config.options.merging import CUSTOM_MERGER, MergeMode
from pyhudi.errors import OptionError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.reader import SliceLogs
from pyhudi.fileslice.reading import SliceReading
from pyhudi.fileslice.span import CommitSpan
from pyhudi.merge.custom import load_merger
from pyhudi.merge.resolve import default_values, stored_rule
from pyhudi.schema.metafields import without_meta
from pyhudi.table.archived_logs import ArchivedLogs
from pyhudi.table.keying import virtual_key_generator
from pyhudi.table.table import Table


def slice_reading(
    table: Table,
    schema: pa.Schema,
    *,
    as_of: str | None = None,
    span: CommitSpan | None = None,
    memory: MergeMemory = DEFAULT_MEMORY,
) -> SliceReading:
    """How the file slices of a table are read, now or as of an instant.

    Raises:
        UnsupportedError: records are merged by a rule that is not followed here.
    """
    config = table.config
    defaults = default_values(table.avro_schema(as_of))
    return SliceReading(
        rule=stored_rule(config, without_meta(schema), defaults=defaults),
        timeline=table.timeline,
        as_of=as_of,
        span=span,
        virtual_keys=None if config.populate_meta_fields else virtual_key_generator(config),
        memory=memory,
        archived=archived_writes(table),
    )


def archived_writes(table: Table) -> ArchivedLogs | None:
    """Whom to ask for archived writes of log files; nobody where damage is read past."""
    return None if table.skips_damaged else ArchivedLogs.of(table.config)


def check_merger(table: Table, named: str | None) -> None:
    """Refuse to run a Python class that the table names as its merger, and the caller does not.

    Raises:
        OptionError: the caller names another class or none, or it is not there.
    """
    config = table.config
    if config.merge_mode is not MergeMode.CUSTOM:
        return
    if named is None or named != config.custom_merger:
        raise OptionError(
            f"the log files of table {config.name} are merged by the Python class "
            f"{config.custom_merger}, and the query names {named or 'none'}; give "
            f"custom_merger={config.custom_merger!r} ({CUSTOM_MERGER.key}), or read the base files "
            "alone with query_type='read_optimized'",
            where=table.storage.uri,
        )
    load_merger(named)


def slice_logs(table: Table, slices: Iterable[FileSlice], memory: MergeMemory) -> SliceLogs:
    """Those of some slices of a table that have log files; ``memory`` is the room for each."""
    schema = table.schema()
    return SliceLogs(
        reading=slice_reading(table, schema, memory=memory),
        schema=schema,
        slices={
            found.base_file.path: found
            for found in slices
            if found.base_file is not None and found.log_files
        },
    )
