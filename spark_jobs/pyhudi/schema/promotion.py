"""Which scalar type may become which other without losing what it says."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_WIDER: Final = {
    pa.int32(): (pa.int64(), pa.float32(), pa.float64()),
    pa.int64(): (pa.float32(), pa.float64()),
    pa.float32(): (pa.float64(),),
    pa.string(): (pa.binary(),),
    pa.binary(): (pa.string(),),
}


def can_become(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of a scalar type may be read or written as another one.

    Ints widen to longs, floats and doubles, longs to floats and doubles, floats to doubles;
    strings and bytes stand for each other; decimals may gain digits on either side; timestamps
    change their unit, and their zone as long as both have one.

    Source: Avro 1.11 specification, schema resolution; decimals as in
    AvroSchemaEvolutionUtils, Hudi 0.15.
    """
    if found == wanted or wanted in _WIDER.get(found, ()):
        return True
    if pa.types.is_decimal(found) and pa.types.is_decimal(wanted):
        whole_found, whole_wanted = found.precision - found.scale, wanted.precision - wanted.scale
        return bool(wanted.scale >= found.scale and whole_wanted >= whole_found)
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted):
        return (found.tz is None) == (wanted.tz is None)
    return False


def must_fit(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a change that ``can_become`` allows is refused where a value does not survive it.

    A long that becomes a double is rounded, as Avro rounds it; anything else has to fit.
    """
    return not (pa.types.is_integer(found) and pa.types.is_floating(wanted))
