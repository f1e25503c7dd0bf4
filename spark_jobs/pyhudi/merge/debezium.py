"""Events of databases as Debezium tells them: which is the later one, and what it has not.

Source: AbstractDebeziumAvroPayload, PostgresDebeziumAvroPayload and MySqlDebeziumAvroPayload, Hudi
0.15 and 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.config.options.merging import MergeMode, PartialUpdate
from pyhudi.errors import CorruptTableError
from pyhudi.merge.partial import Filling
from pyhudi.schema.columns import Column, one_array

EVENT_OPERATION: Final = "_change_operation_type"
"""The column that says what was done to a row."""
EVENT_COLUMN: Final[Mapping[MergeMode, str]] = {
    MergeMode.POSTGRES: "_event_lsn",
    MergeMode.MYSQL: "_event_seq",
}
"""The column by which events are ordered: a number, or file and position with a dot between."""
DELETED: Final = "d"
UNSENT: Final = Filling(
    kind=PartialUpdate.FILL_UNAVAILABLE, unavailable="__debezium_unavailable_value"
)
"""The texts that stand for what Postgres did not send."""


def event_order(rows: pa.Table, mode: MergeMode) -> list[Column]:
    """The columns that order events, one after another.

    Raises:
        CorruptTableError: a text that is no file and position.
    """
    column = rows.column(EVENT_COLUMN[mode])
    if mode is MergeMode.POSTGRES:
        return [column]
    parts = pc.split_pattern(one_array(column).cast(pa.string()), ".")
    try:
        return [pc.list_element(parts, place).cast(pa.int64()) for place in (0, 1)]
    except pa.ArrowInvalid as error:
        raise CorruptTableError(
            f"{EVENT_COLUMN[mode]} has a value that is no file and position: {error}"
        ) from error
