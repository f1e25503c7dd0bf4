"""The log side of a file slice as a value: its rows and deletes.

Source: KeyBasedFileGroupRecordBuffer, BufferedRecord, Hudi 1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from pyhudi.logfile.merge.row_file import rows_at
from pyhudi.schema.columns import Flags, Positions, flags_of, one_array

# No column of a table has a name with a space.
KEY: Final = " key"
_IS_ROW: Final = " is row"
IS_DELETE: Final = " is delete"
_IS_FINAL: Final = " is final"
_ORDERING: Final = " ordering {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecords:
    """What the log files of a slice say, one record a key.

    Records that ``is_delete`` flags delete their key, those that ``is_final`` flags whatever the
    ordering value of the stored row; of others ``orderings`` has the values to compare. ``is_row``
    flags records that came as rows, which may say of themselves that they delete.

    Shapes: one entry a record in ``keys``, ``rows``, the flags and each of the ``orderings``, one
        column for each ordering column of the rule; the row of a delete record has nulls alone.
        ``rows`` can be many and lie on disk: they are taken by position, or batch by batch.
    """

    keys: pa.StringArray
    rows: pa.Table
    is_row: Flags
    is_delete: Flags
    is_final: Flags
    orderings: tuple[pa.Array, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, positions: Positions) -> LogRecords:
        """The records at some positions."""
        indices = pa.array(positions)
        return LogRecords(
            keys=self.keys.take(indices),
            rows=rows_at(self.rows, positions),
            is_row=self.is_row[positions],
            is_delete=self.is_delete[positions],
            is_final=self.is_final[positions],
            orderings=tuple(column.take(indices) for column in self.orderings),
        )

    @property
    def size_bytes(self) -> int:
        """The bytes of all columns."""
        return int(
            self.keys.nbytes + self.rows.nbytes + sum(column.nbytes for column in self.orderings)
        )


def packed(records: LogRecords) -> pa.Table:
    """Records as one table."""
    columns = {
        KEY: records.keys,
        _IS_ROW: pa.array(records.is_row),
        IS_DELETE: pa.array(records.is_delete),
        _IS_FINAL: pa.array(records.is_final),
    }
    columns |= {_ORDERING.format(at): column for at, column in enumerate(records.orderings)}
    table = records.rows
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def unpacked(table: pa.Table, like: LogRecords) -> LogRecords:
    """The records of a table that ``packed`` made, whose rows have the columns of others."""
    return LogRecords(
        keys=one_array(table.column(KEY)),
        rows=table.select(like.rows.schema.names),
        is_row=flags_of(table.column(_IS_ROW)),
        is_delete=flags_of(table.column(IS_DELETE)),
        is_final=flags_of(table.column(_IS_FINAL)),
        orderings=tuple(
            one_array(table.column(_ORDERING.format(at))) for at in range(len(like.orderings))
        ),
    )


def joined_up(pieces: Sequence[LogRecords]) -> LogRecords:
    """The records of all pieces, in their order."""
    return LogRecords(
        keys=pa.concat_arrays([piece.keys for piece in pieces]),
        rows=pa.concat_tables([piece.rows for piece in pieces]),
        is_row=np.concatenate([piece.is_row for piece in pieces]),
        is_delete=np.concatenate([piece.is_delete for piece in pieces]),
        is_final=np.concatenate([piece.is_final for piece in pieces]),
        orderings=tuple(
            pa.concat_arrays(columns)
            for columns in zip(*(piece.orderings for piece in pieces), strict=True)
        ),
    )
