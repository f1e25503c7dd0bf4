"""How the log files of a table are merged: settled before any is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from pyhudi.config.merging import CUSTOM_MERGER, MergeLaw
from pyhudi.config.read import QueryType, ReadConfig
from pyhudi.config.table import TableConfig
from pyhudi.errors import OptionError
from pyhudi.keys.generators import KeyGenerator
from pyhudi.merge.custom import load_merger
from pyhudi.merge.deletes import OPERATION_FIELD
from pyhudi.merge.ordering import Column
from pyhudi.merge.rule import MergeRule
from pyhudi.merge.settle import default_values, stored_rule
from pyhudi.schema.metafields import COMMIT_TIME, RECORD_KEY, without_meta
from pyhudi.table.keying import virtual_key_generator
from pyhudi.timeline.timeline import Timeline

if TYPE_CHECKING:
    from pyhudi.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMerge:
    """How log files are read and merged with base files.

    Blocks of writes that are not committed on the ``timeline``, or are later than ``as_of``, do not
    count. With ``begin`` neither do they nor stored rows up to that instant: what changed after it
    is merged with itself alone. ``virtual_keys`` makes the record keys of rows in tables that keep
    none.

    Source: HoodieMergeOnReadSnapshotReader and MergeOnReadIncrementalRelation, Hudi 0.15 and 1.1
    (both filter base files and log blocks by the range before they merge).
    """

    rule: MergeRule
    timeline: Timeline
    as_of: str | None
    begin: str | None
    virtual_keys: KeyGenerator | None

    def columns(self, asked: Sequence[str], own: Sequence[str]) -> frozenset[str]:
        """The columns to read for rows of those asked for; ``own`` are all of the table.

        Columns that the table has not can be among them.
        """
        # A merger in Python sees whole rows.
        names = own if self.rule.law is MergeLaw.CUSTOM else asked
        keys = (RECORD_KEY,) if self.virtual_keys is None else self.virtual_keys.key_columns
        range_ends = () if self.begin is None else (COMMIT_TIME,)
        ordering = (path.partition(".")[0] for path in self.rule.ordering_fields)
        merged = (*self.rule.columns_to_merge(names), *ordering)
        deleting = (OPERATION_FIELD, *self.rule.deleting_columns)
        return frozenset((*asked, *keys, *range_ends, *deleting, *merged))

    def instant_test(self) -> Callable[[str], bool]:
        """Whether the blocks of an instant count, as a function."""
        is_committed = self.timeline.committed_test()

        def is_wanted(instant: str) -> bool:
            is_early = self.begin is not None and instant <= self.begin
            is_late = self.as_of is not None and instant > self.as_of
            return not is_early and not is_late and is_committed(instant)

        return is_wanted

    def keys_of(self, rows: pa.Table) -> Column:
        """The record keys of some rows."""
        if self.virtual_keys is None:
            return rows.column(RECORD_KEY)
        return self.virtual_keys.record_keys(rows)


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
    if config.merge_law is MergeLaw.CUSTOM:
        _check_merger(config, query, table.storage.uri)
    return LogMerge(
        rule=stored_rule(
            config, without_meta(schema), defaults=default_values(table.avro_schema(as_of))
        ),
        timeline=table.timeline,
        as_of=as_of,
        begin=query.begin if query.query_type is QueryType.INCREMENTAL else None,
        virtual_keys=None if config.populate_meta_fields else virtual_key_generator(config),
    )


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
