"""The request of ``spark_jobs/upsert.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pyhudi.config.options import operations, table
from pyhudi.errors import OptionError
from pyhudi.flags import Flag, merged_options
from pyhudi.jobs.request import OnExistingFlag, Request, SlotKey, SlotSince

IF_SOURCE_MISSING = ("fail", "retry", "skip")
"""What a job does about a source that is not there; the first unless it is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertRequest(Request):
    """What to write into which table: the flags of ``spark_jobs/upsert.py`` as a value."""

    script: ClassVar[str] = "upsert"
    purpose: ClassVar[str] = "Write rows into a Hudi table."

    source: Annotated[
        str | None,
        Flag(
            help="the rows to write: a path, a glob, a comma-separated list of paths, or a table "
            "name in the Spark catalog; not needed to delete partitions that the options name"
        ),
    ] = None
    table_name: Annotated[str | None, Flag(help="name of the table", option=table.TABLE_NAME)] = (
        None
    )
    table_type: Annotated[
        str | None, Flag(help="COPY_ON_WRITE or MERGE_ON_READ", option=table.TABLE_TYPE)
    ] = None
    operation: Annotated[
        str | None,
        Flag(
            help="upsert, insert, bulk_insert, delete, insert_overwrite, insert_overwrite_table or "
            "delete_partition",
            option=operations.OPERATION,
        ),
    ] = None
    record_key: Annotated[
        str | None,
        Flag(help="comma-separated columns that name a record", option=table.RECORD_KEY_FIELD),
    ] = None
    partition_path: Annotated[
        str | None,
        Flag(help="comma-separated columns to partition by", option=table.PARTITION_PATH_FIELD),
    ] = None
    ordering_field: Annotated[
        str | None,
        Flag(
            help="column whose highest value wins among records of one key",
            option=table.ORDERING_FIELD,
        ),
    ] = None
    ordering_value: Annotated[
        str | None,
        Flag(
            help="a time, with its zone, that is the value of the ordering field in all rows; the "
            "source has no such column",
            option=operations.ORDERING_VALUE,
        ),
    ] = None
    partitions_to_delete: Annotated[
        str | None,
        Flag(
            help="comma-separated partition paths for delete_partition, * for any characters",
            option=operations.PARTITIONS_TO_DELETE,
        ),
    ] = None
    source_format: Annotated[
        str, Flag(help="format of the source as Spark names it: parquet, csv, json, orc, ...")
    ] = "parquet"
    source_options: Annotated[
        Mapping[str, str],
        Flag(name="--source-option", help="option of the Spark reader, may be repeated"),
    ] = field(default_factory=dict, repr=False)
    sql: Annotated[
        str | None,
        Flag(help="query over the view named source; its rows are written instead of the source's"),
    ] = None
    if_source_missing: Annotated[
        str | None,
        Flag(
            help="what a source that is not there means: fail (the default), retry (fail, and say "
            "that a retry can help) or skip (write nothing and end well)"
        ),
    ] = None

    slot_key: SlotKey = None
    on_existing: OnExistingFlag = None
    slot_since: SlotSince = None

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return operations.OPERATION.read(self.options()).value

    def check(self) -> None:
        """Refuse what no source can mend.

        Raises:
            OptionError: says what.
        """
        if self.if_source_missing not in (None, *IF_SOURCE_MISSING):
            allowed = ", ".join(IF_SOURCE_MISSING)
            raise OptionError(
                f"--if-source-missing is {self.if_source_missing!r}; allowed: {allowed}"
            )
        for option, text in (
            (operations.ON_EXISTING, self.on_existing),
            (operations.ORDERING_VALUE, self.ordering_value),
        ):
            if text:
                option.read({option.key: text})
        if not self.source:
            self.options()

    def options(self) -> dict[str, str]:
        """All options of the request under Hudi's own keys, aliases replaced by the key they mean.

        ``hoodie_conf`` wins over the file ``props``, and a shorthand wins over both.

        Raises:
            OptionError: the file cannot be read, one level gives one option two values, or there
                is no source and the operation needs one.
        """
        merged = merged_options(self)
        if not self.source:
            _check_needs_no_source(merged)
        return merged


def _check_needs_no_source(options: Mapping[str, str]) -> None:
    is_deletion = operations.OPERATION.read(options) is operations.Operation.DELETE_PARTITION
    if is_deletion and operations.PARTITIONS_TO_DELETE.read(options) is not None:
        return
    raise OptionError(
        "there is no source; name the rows to write with --source, or the partitions that "
        f"{operations.Operation.DELETE_PARTITION.value} takes with --partitions-to-delete"
    )
