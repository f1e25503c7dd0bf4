"""What becomes of a batch as a whole: the operation, and what is done about keys and partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting


class Operation(Enum):
    """What becomes of the rows.

    Source: WriteOperationType, Hudi 0.15.
    """

    UPSERT = "upsert"
    INSERT = "insert"
    BULK_INSERT = "bulk_insert"
    DELETE = "delete"
    INSERT_OVERWRITE = "insert_overwrite"
    INSERT_OVERWRITE_TABLE = "insert_overwrite_table"
    DELETE_PARTITION = "delete_partition"

    @property
    def commit_name(self) -> str:
        """The operation as commit metadata names it."""
        return self.name

    @property
    def replaces(self) -> bool:
        """Whether it hides whole file groups instead of rewriting them."""
        return self in _REPLACING


_REPLACING = (
    Operation.INSERT_OVERWRITE,
    Operation.INSERT_OVERWRITE_TABLE,
    Operation.DELETE_PARTITION,
)


class StoredKeys(Enum):
    """What an insert does with rows whose key the table has already."""

    KEEP = "none"
    DROP = "drop"
    FAIL = "fail"


class OnExisting(Enum):
    """What a write does where an earlier one has filled its slot, under another request."""

    APPEND = "append"
    REUSE = "reuse"
    REPLACE = "replace"


class OverwriteMode(Enum):
    """What SQL replaces when it names no partition."""

    STATIC = "static"
    DYNAMIC = "dynamic"


_OTHERS = ("insert_prepped", "upsert_prepped", "bulk_insert_prepped", "delete_prepped", "bootstrap")
_WRITE = "hoodie.datasource.write."


def _bulk_overwrite(text: str) -> Operation | None:
    if not text:
        return None
    found = option.parse_enum(Operation)(text)
    if found not in _REPLACING[:2]:
        raise ValueError(", ".join(member.value for member in _REPLACING[:2]))
    return found


def _on_existing(text: str) -> OnExisting | None:
    return option.parse_enum(OnExisting)(text) if text else None


def _time(text: str) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise ValueError("a time as in 2026-01-02T03:04:05+00:00") from None
    if found.tzinfo is None:
        raise ValueError("a time with a zone, as in 2026-01-02T03:04:05+00:00")
    return found.astimezone(timezone.utc)


def _paths(text: str) -> tuple[str, ...]:
    return tuple(path.strip().strip("/") for path in text.split(",")) if text else ()


OPERATION = declare(
    f"{_WRITE}operation", option.parse_enum(Operation, not_done=_OTHERS), default=Operation.UPSERT
)
"""what becomes of the rows"""
BULK_OVERWRITE = declare(
    "hoodie.bulkinsert.overwrite.operation.type", _bulk_overwrite, default=None
)
"""what a bulk insert replaces, as the operation insert_overwrite or insert_overwrite_table does"""
OVERWRITE_MODE = declare(
    "hoodie.datasource.overwrite.mode",
    option.parse_enum(OverwriteMode),
    default=OverwriteMode.DYNAMIC,
)
"""what Spark SQL takes INSERT OVERWRITE without a partition for; here the operation decides, as in
Hudi's data frame writer"""
_NO_PATHS: tuple[str, ...] = ()
STATIC_PARTITIONS = declare("hoodie.static.overwrite.partition.paths", _paths, default=_NO_PATHS)
"""partition paths that insert_overwrite replaces instead of those in the batch"""
PARTITIONS_TO_DELETE = declare(f"{_WRITE}partitions.to.delete", _paths, default=None)
"""partition paths that delete_partition hides, with * for any characters; without it those in the
batch"""
DROP_DUPLICATES = declare(f"{_WRITE}insert.drop.duplicates", option.parse_bool, default=False)
"""an insert leaves out rows whose key the table has, and keeps one row a key"""
DUPLICATE_POLICY = declare(
    "hoodie.datasource.insert.dup.policy", option.parse_enum(StoredKeys), default=StoredKeys.KEEP
)
"""an insert keeps or drops rows whose key the table has, or fails"""
COMBINE_BEFORE_UPSERT = declare("hoodie.combine.before.upsert", option.parse_bool, default=True)
"""one record a key before an upsert"""
COMBINE_BEFORE_INSERT = declare("hoodie.combine.before.insert", option.parse_bool, default=False)
"""one record a key before an insert or bulk insert"""
COMBINE_BEFORE_DELETE = declare("hoodie.combine.before.delete", option.parse_bool, default=True)
"""one record a key before a delete"""
ALLOW_DUPLICATES = declare(
    "hoodie.merge.allow.duplicate.on.inserts", option.parse_bool, default=True
)
"""inserts into an existing file keep records of keys it has"""
SLOT = declare("pyhudi.slot.key", option.parse_optional_text, default=None, since="pyhudi")
"""which part of its source a write is, such as a day: commits that carry this text are of the same
part, whichever request made them"""
ON_EXISTING = declare("pyhudi.slot.existing", _on_existing, default=None, since="pyhudi")
"""what a write does where a commit with its pyhudi.slot.key is there: append writes all the same,
reuse writes nothing, replace takes the rows of that commit out of the table as it puts its own in;
by default insert and bulk_insert replace where they can, a bootstrap reuses, all others append"""
SLOT_SINCE = declare("pyhudi.slot.since", option.parse_optional_text, default=None, since="pyhudi")
"""a time before anybody can have written the slot: only commits that were archived since then are
looked through for it; all of them unless it is given"""
ORDERING_VALUE = declare("pyhudi.ordering.value", _time, default=None, since="pyhudi")
"""a time that is the value of the ordering field in all rows, whose source has no such column: the
end of the data interval keeps older data from beating newer"""
ALLOW_EMPTY_COMMIT = declare("hoodie.allow.empty.commit", option.parse_bool, default=False)
"""a write with nothing to write makes a commit all the same; Hudi's default is true"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchConfig:
    """What is done with a batch as a whole.

    ``bulk_overwrite`` is what a bulk insert replaces. ``static_partitions`` are replaced by
    insert_overwrite whatever the batch holds, unless there are none; ``partitions_to_delete`` is
    None when the batch names them. ``is_deduplicated`` asks for one row a key.
    """

    bulk_overwrite: Operation | None = setting(BULK_OVERWRITE)
    static_partitions: tuple[str, ...] = setting(STATIC_PARTITIONS)
    partitions_to_delete: tuple[str, ...] | None = setting(PARTITIONS_TO_DELETE)
    stored_keys: StoredKeys = setting(DUPLICATE_POLICY)
    is_deduplicated: bool = setting(DROP_DUPLICATES)
    combine_before_upsert: bool = setting(COMBINE_BEFORE_UPSERT)
    combine_before_insert: bool = setting(COMBINE_BEFORE_INSERT)
    combine_before_delete: bool = setting(COMBINE_BEFORE_DELETE)
    allow_duplicates_on_insert: bool = setting(ALLOW_DUPLICATES)
    allow_empty_commit: bool = setting(ALLOW_EMPTY_COMMIT)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> BatchConfig:
        """What options ask for.

        Raises:
            OptionError: a value that is not allowed.
        """
        OVERWRITE_MODE.read(options)
        drops = {"stored_keys": StoredKeys.DROP} if DROP_DUPLICATES.read(options) else {}
        return read_settings(cls, options, **drops)
