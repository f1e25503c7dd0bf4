"""Ordering values: which of two records is newer, and which record of a key is the newest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import RequestError
from pyhudi.schema.columns import Column, Flags, Positions, flags_of, one_array

_ALL_BUT_SIGN = np.int64(0x7FFF_FFFF_FFFF_FFFF)


def surviving_positions(keys: Column, ordering: Sequence[Column]) -> Positions | None:
    """Which rows count for their key, in arrival order; None when every key occurs once.

    Of the rows of one key the one with the highest ordering value counts, of equal ones the one
    that arrived last. Without an ordering column the last to arrive counts. Several columns are
    compared one after another.

    Shapes: ``keys`` strings without nulls; ``ordering`` columns of any sortable type; the result is
        ascending.

    Raises:
        RequestError: rows of one key, one of which has no ordering value.
    Source: HoodieWriteHelper.deduplicateRecords with EventTimeRecordMerger and
    CommitTimeRecordMerger, Hudi 1.1: a later row replaces an earlier one unless its ordering value
    is smaller, and one without a value cannot be compared.
    """
    codes = pc.dictionary_encode(one_array(keys))
    if len(codes.dictionary) == len(codes):
        return None
    columns = {"key": codes.indices}
    for number, column in enumerate(ordering):
        columns[f"ordering {number}"] = sortable(column)
    # Arrow's sort is stable: equal ordering values keep their order of arrival.
    sort_keys = [(name, "ascending") for name in columns]
    order = pc.sort_indices(pa.table(columns), sort_keys=sort_keys).to_numpy()
    sorted_codes = codes.indices.to_numpy()[order]
    is_last: Flags = np.append(sorted_codes[1:] != sorted_codes[:-1], [True])
    check_comparable(codes.indices.to_numpy(), ordering)
    survivors: Positions = np.sort(order[is_last])
    return survivors


def stored_is_newer(stored: Sequence[Column], incoming: Sequence[Column]) -> Flags:
    """Whether each stored ordering value is greater than the incoming one beside it.

    Several columns are compared one after another. A null on either side ends the comparison: the
    stored record is then not newer.

    Shapes: as many columns on both sides, of one type each and one length.
    Source: DefaultHoodieRecordPayload.needUpdatingPersistedRecord, Hudi 0.15 and 1.1;
    PartialUpdateAvroPayload.isRecordNewer, Hudi 1.1.
    """
    is_newer: Column = pa.scalar(value=False)
    for left, right in reversed(list(zip(stored, incoming, strict=True))):
        ours, theirs = sortable(left), sortable(right)
        is_equal = pc.and_(pc.equal(ours, theirs), is_newer)
        is_newer = pc.fill_null(pc.or_(pc.greater(ours, theirs), is_equal), fill_value=False)
    return flags_of(is_newer)


def sortable(column: Column) -> pa.Array:
    """The column as values whose order in Arrow is that of Java.

    Floating-point numbers become integers: in Java, NaN is the greatest and 0.0 is above -0.0.

    Source: java.lang.Double.compare.
    """
    array = one_array(column)
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_boolean(array.type):
        return array.cast(pa.int8())
    if not pa.types.is_floating(array.type):
        return array
    values = array.cast(pa.float64()).fill_null(0.0).to_numpy().copy()
    values[np.isnan(values)] = np.nan
    bits = values.view(np.int64)
    ranks = bits ^ ((bits >> np.int64(63)) & _ALL_BUT_SIGN)
    return pa.array(ranks, mask=flags_of(array.is_null()))


def ordering_columns(rows: pa.Table, paths: Sequence[str]) -> list[Column]:
    """The ordering columns of some rows; a dotted path leads into structs."""
    columns = []
    for path in paths:
        name, *inner = path.split(".")
        column = rows.column(name)
        columns.append(pc.struct_field(column, inner) if inner else column)
    return columns


def key_codes(keys: Column) -> npt.NDArray[np.int32]:
    """A number for each key, equal for equal ones."""
    codes: npt.NDArray[np.int32] = pc.dictionary_encode(one_array(keys)).indices.to_numpy()
    return codes


def ranks_of(ordering: Sequence[Column]) -> Positions:
    """The rank of each row's ordering values among all, equal for equal ones, from 0."""
    table = pa.table({str(number): sortable(column) for number, column in enumerate(ordering)})
    order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.schema.names])
    ordered = table.take(order)
    differs = np.zeros(table.num_rows, dtype=bool)
    for column in ordered.columns:
        unequal = pc.not_equal(column.slice(1), column.slice(0, table.num_rows - 1))
        differs[1:] |= flags_of(pc.fill_null(unequal, fill_value=True))
    ranks = np.empty(table.num_rows, dtype=np.int64)
    ranks[order.to_numpy()] = np.cumsum(differs)
    return ranks


def check_comparable(codes: npt.NDArray[np.int32], ordering: Sequence[Column]) -> None:
    """Refuse rows without ordering value where there are others of their key.

    Raises:
        RequestError: there are such rows.
    """
    has_null = np.zeros(len(codes), dtype=bool)
    for column in ordering:
        if column.null_count:
            has_null |= flags_of(column.is_null())
    if has_null.any():
        is_repeated = np.bincount(codes) > 1
        refuse_nulls(int((has_null & is_repeated[codes]).sum()))


def refuse_nulls(count: int) -> None:
    """Refuse rows that must be compared and have no ordering value.

    Raises:
        RequestError: there are such rows.
    """
    if count:
        raise RequestError(
            f"{count} rows have no value in the ordering column and share their key with other "
            "rows of the batch, so that none of them is the newest; fill it or leave the rows out"
        )
