"""Which scalar type may become which other."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from pyhudi.schema.arrow import decimal_size

_TEXT: Final = pa.string()

_WIDER: Final = {
    pa.int32(): (pa.int64(), pa.float32(), pa.float64(), _TEXT),
    pa.int64(): (pa.float32(), pa.float64(), _TEXT),
    pa.float32(): (pa.float64(), _TEXT),
    pa.float64(): (_TEXT,),
}
"""What a table's column may turn into; its old values are converted as they are read."""

_TAKEN: Final = {
    pa.string(): (pa.binary(), pa.date32()),
    pa.binary(): (_TEXT,),
    pa.date32(): (_TEXT,),
}
"""What values of a batch may be turned into besides, where the table has the type."""


def can_widen(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a table's column of one type may become a column of the other.

    Ints widen to longs, floats, doubles and strings, longs to floats, doubles and strings, floats
    to doubles and strings, doubles to strings; decimals may gain whole digits as long as their
    bytes stay as many.

    Not: Hudi 0.15 also lets a decimal gain digits after the point and does not move the point of
        old numbers. All releases let an int become a date and a long a timestamp, by which old
        numbers turn into days and instants, and a date or timestamp a text or a number, after which
        they cannot read the table. None of this is done here.
    Source: AvroSchemaUtils.checkValidEvolution, AvroSchemaCompatibility, Hudi 0.15 and 1.1.
    """
    if found == wanted or wanted in _WIDER.get(found, ()):
        return True
    return _is_decimal_of(found, wanted) and _has_same_bytes(found, wanted)


def can_become(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of one type may be written to a column of the other, or read as it.

    Whatever ``can_widen`` allows; numbers and texts also become decimals, strings dates and bytes,
    bytes, dates and decimals strings; timestamps change their unit, and their zone as long as both
    have one. A value that does not fit is refused by itself.

    Source: SchemaChangeUtils.shouldPromoteType, Hudi 0.15 and 1.1.
    """
    if found == wanted or wanted in _WIDER.get(found, ()) or wanted in _TAKEN.get(found, ()):
        return True
    if pa.types.is_decimal(wanted):
        return _becomes_decimal(found, wanted)
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted):
        return (found.tz is None) == (wanted.tz is None)
    return bool(pa.types.is_decimal(found) and wanted == _TEXT)


def may_fit(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether some values of a wider type can be written to a narrower column.

    So a schema that the request names is filled from wider columns; each value has to fit.
    """
    if can_become(found, wanted):
        return True
    is_number = pa.types.is_integer(found) and pa.types.is_integer(wanted)
    return is_number or _is_decimal_of(found, wanted)


def _becomes_decimal(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_decimal(found):
        return _has_room(found, wanted)
    return bool(pa.types.is_integer(found) or pa.types.is_floating(found) or found == _TEXT)


def _is_decimal_of(found: pa.DataType, wanted: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(found) and pa.types.is_decimal(wanted))


def _has_same_bytes(found: pa.DataType, wanted: pa.DataType) -> bool:
    is_wider = wanted.scale == found.scale and wanted.precision >= found.precision
    return bool(is_wider and decimal_size(wanted.precision) == decimal_size(found.precision))


def _has_room(found: pa.DataType, wanted: pa.DataType) -> bool:
    whole_found, whole_wanted = found.precision - found.scale, wanted.precision - wanted.scale
    return bool(wanted.scale >= found.scale and whole_wanted >= whole_found)
