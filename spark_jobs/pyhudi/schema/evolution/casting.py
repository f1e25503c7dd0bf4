"""Values of one scalar type as values of another, and which of them do not survive it."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.columns import Flags, flags_of
from pyhudi.schema.float_text import float_text

_TEXT: Final = pa.string()
_WIDEST_DECIMAL: Final = 76
_MOST_BAD_TO_SEARCH: Final = 1
_TICKS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def cast_values(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The values in another type.

    A float becomes the double of the same shortest text, numbers become text as Java formats them
    and decimals by rounding half up; integers are rounded to floating numbers. Whatever else does
    not fit is an error.

    Raises:
        ArrowInvalid: a value does not fit; see ``misfits``.
    Source: HoodieAvroUtils.rewritePrimaryTypeWithDiffSchemaType, Hudi 0.15 and 1.1.
    """
    found = array.type
    if pa.types.is_dictionary(found) and found.value_type != wanted:
        return cast_values(array.dictionary_decode(), wanted)
    if pa.types.is_large_string(found) or pa.types.is_string_view(found):
        return cast_values(array.cast(_TEXT), wanted)
    if pa.types.is_floating(found):
        return _cast_floating(array, wanted)
    if pa.types.is_integer(found) and pa.types.is_floating(wanted):
        return array.cast(wanted, safe=False)
    if pa.types.is_decimal(wanted) and not pa.types.is_null(found):
        return _cast_to_decimal(array, wanted)
    return array.cast(wanted)


def misfits(array: pa.Array, wanted: pa.DataType) -> Flags:
    """Which values do not fit another type; nulls always do.

    Numbers and times are compared with the type's bounds; texts and bytes, whose rules are those
    of a parser, are tried by halves over their distinct values.

    Shapes: one entry per value.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    mask = _out_of_bounds(array, wanted)
    rest = array if not mask.any() else array.filter(pa.array(~mask))
    if _fits(rest, wanted):
        return mask
    encoded = rest.dictionary_encode()
    bad_values = np.zeros(len(encoded.dictionary), dtype=bool)
    _search(encoded.dictionary, wanted, bad_values)
    codes = pc.fill_null(encoded.indices, len(bad_values)).to_numpy(zero_copy_only=False)
    mask[np.flatnonzero(~mask)] = np.append(bad_values, False)[codes]
    return mask


def _cast_floating(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if wanted == _TEXT:
        return float_text(array)
    if pa.types.is_float32(array.type) and pa.types.is_float64(wanted):
        return array.cast(_TEXT).cast(wanted)
    if pa.types.is_decimal(wanted):
        return _cast_to_decimal(array, wanted)
    return array.cast(wanted)


def _cast_to_decimal(array: pa.Array, wanted: pa.Decimal128Type) -> pa.Array:
    found = array.type
    if pa.types.is_integer(found):
        array = array.cast(pa.decimal256(_WIDEST_DECIMAL, wanted.scale))
    elif pa.types.is_floating(found):
        # Numbers this small have more digits than a decimal, and are rounded to nothing.
        is_tiny = pc.less(pc.abs(array), 10.0 ** -(wanted.scale + 2))
        array = pc.if_else(is_tiny, pa.scalar(0.0, found), array)
    if pa.types.is_floating(found) or found == _TEXT:
        array = _rounded(array.cast(_TEXT), wanted.scale)
    return array.cast(wanted)


def _rounded(text: pa.StringArray, scale: int) -> pa.Array:
    """The decimals of texts in a scale, rounded half up."""
    room = pa.decimal256(_WIDEST_DECIMAL, _WIDEST_DECIMAL // 2)
    return pc.round(text.cast(room), ndigits=scale, round_mode="half_towards_infinity").cast(
        pa.decimal256(_WIDEST_DECIMAL, scale)
    )


def _fits(array: pa.Array, wanted: pa.DataType) -> bool:
    try:
        cast_values(array, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _search(values: pa.Array, wanted: pa.DataType, bad: Flags) -> None:
    """Mark the values that do not fit, of which there is one at least."""
    if len(values) == _MOST_BAD_TO_SEARCH:
        bad[0] = True
        return
    middle = len(values) // 2
    for part, marks in ((values[:middle], bad[:middle]), (values[middle:], bad[middle:])):
        if not _fits(part, wanted):
            _search(part, wanted, marks)


def _out_of_bounds(array: pa.Array, wanted: pa.DataType) -> Flags:
    found = array.type
    if pa.types.is_integer(found) and pa.types.is_integer(wanted):
        bounds = np.iinfo(wanted.to_pandas_dtype())
        return _outside(array, int(bounds.min), int(bounds.max))
    if pa.types.is_integer(found) and pa.types.is_decimal(wanted):
        most = 10 ** (wanted.precision - wanted.scale) - 1
        return _outside(array, -most, most)
    if pa.types.is_floating(found) and pa.types.is_decimal(wanted):
        return _wide_floats(array, wanted)
    if pa.types.is_decimal(found) and pa.types.is_decimal(wanted):
        return _wide_decimals(array, wanted)
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted):
        return _odd_times(array, wanted)
    return np.zeros(len(array), dtype=bool)


def _outside(array: pa.Array, least: int, most: int) -> Flags:
    own = np.iinfo(array.type.to_pandas_dtype())
    below = pc.less(array, pa.scalar(max(least, int(own.min)), array.type))
    above = pc.greater(array, pa.scalar(min(most, int(own.max)), array.type))
    return flags_of(pc.or_(below, above))


def _wide_floats(array: pa.Array, wanted: pa.Decimal128Type) -> Flags:
    limit = float(10 ** (wanted.precision - wanted.scale))
    is_wide = pc.greater_equal(pc.abs(array.cast(pa.float64())), limit)
    return flags_of(pc.or_(is_wide, pc.invert(pc.is_finite(array))))


def _wide_decimals(array: pa.Array, wanted: pa.Decimal128Type) -> Flags:
    scale = max(array.type.scale, wanted.scale)
    values = array.cast(pa.decimal256(_WIDEST_DECIMAL, scale))
    limit = pa.scalar(10 ** (wanted.precision - wanted.scale)).cast(values.type)
    is_wide = pc.greater_equal(pc.abs(values), limit)
    is_fine = pc.not_equal(values, pc.round(values, ndigits=wanted.scale))
    return flags_of(pc.or_(is_wide, is_fine))


def _odd_times(array: pa.Array, wanted: pa.TimestampType) -> Flags:
    have, want = _TICKS[array.type.unit], _TICKS[wanted.unit]
    ticks = array.cast(pa.int64())
    if have > want:
        step = have // want
        whole = pc.multiply(pc.divide(ticks, step), step)
        return flags_of(pc.not_equal(ticks, whole))
    bounds = np.iinfo(np.int64)
    factor = want // have
    return _outside(ticks, -(int(bounds.max) // factor), int(bounds.max) // factor)
