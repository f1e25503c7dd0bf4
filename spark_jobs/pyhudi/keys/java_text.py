"""Column values as the text Java gives them, the alphabet of record keys and partition paths."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import UnsupportedError
from pyhudi.schema.columns import flags_of, text_buffers
from pyhudi.schema.float_text import float_text

_LAST_FOUR_DIGIT_DATE = pa.scalar(2932896, pa.int32())
_HEX_PAIRS = np.array([f"{byte:02x}".encode() for byte in range(256)], dtype="S2")
_DAY_MILLIS = 86_400_000
_UTC_NAMES = frozenset({"UTC", "GMT", "Z", "Etc/UTC"})


def java_text(column: pa.Array, *, timestamp_zone: str | None = None) -> pa.StringArray:
    """Format every value of a column as Hudi's key generators do.

    Without ``timestamp_zone`` a timestamp is its raw Avro long (micros, or millis for a column of
    millis or seconds), as Hudi's Avro path writes it. With a zone, an instant is formatted as
    ``java.sql.Timestamp.toString()`` formats its millis in that zone; a timestamp without zone
    stays a long, since Hudi applies no logical conversion to it. Binary is lower-case hexadecimal.

    Shapes: one string per row, nulls stay null; dictionary-encoded columns are formatted once per
        dictionary entry.
    Raises: UnsupportedError for a type Hudi has no stable text for (nested, time, duration).
    Not: reproduces neither the surplus digits that Double.toString gave before JDK 19 for a few
        values (1.9999999999999998E23 for 2.0E23), nor the Julian calendar of java.sql.Timestamp
        before 1582, nor the object identity that Hudi's row writer prints for binary.
    Source: HoodieAvroUtils.convertValueForSpecificDataTypes and KeyGenUtils, seen in keys written
        by Hudi 0.15.0 and 1.1.1; BuiltinKeyGenerator for the row writer's timestamps.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return java_text(column.dictionary, timestamp_zone=timestamp_zone).take(column.indices)
    if pa.types.is_timestamp(kind):
        return _timestamp_text(column, timestamp_zone)
    for applies, to_text in _FORMATS:
        if applies(kind):
            return to_text(column)
    raise UnsupportedError(
        f"a column of type {kind} cannot be part of a record key or partition path; "
        "use a string, number, boolean, decimal, date, timestamp or binary column"
    )


def _cast_text(column: pa.Array) -> pa.StringArray:
    return column.cast(pa.string())


def _binary_text(column: pa.Array) -> pa.StringArray:
    wide = column.cast(pa.large_binary())
    offsets, data = text_buffers(wide)
    digits = _HEX_PAIRS[data[offsets[0] : offsets[-1]]]
    text_offsets = 2 * (offsets - offsets[0])
    text = pa.LargeStringArray.from_buffers(
        len(wide), pa.py_buffer(text_offsets), pa.py_buffer(digits)
    )
    return pc.if_else(wide.is_valid(), text, pa.scalar(None, pa.large_string())).cast(pa.string())


def _date_text(column: pa.Array) -> pa.StringArray:
    days = column.cast(pa.date32())
    text = days.cast(pa.string())
    late = pc.greater(days.cast(pa.int32()), _LAST_FOUR_DIGIT_DATE)
    if not pc.any(late).as_py():
        return text
    return pc.if_else(late, pc.binary_join_element_wise("+", text, ""), text)


def _timestamp_text(column: pa.Array, zone: str | None) -> pa.StringArray:
    has_millis = column.type.unit in ("s", "ms")
    raw_unit = pa.timestamp("ms" if has_millis else "us", column.type.tz)
    longs = column.cast(raw_unit, safe=False).cast(pa.int64())
    if zone is None or column.type.tz is None:
        return longs.cast(pa.string())
    # Integer division towards zero, as Java's, also before 1970.
    millis = longs if has_millis else pc.divide(longs, pa.scalar(1000, pa.int64()))
    if zone in _UTC_NAMES:
        return _local_text(millis)
    local = pc.local_timestamp(millis.cast(pa.timestamp("ms", zone)))
    return _local_text(local.cast(pa.int64()))


def _local_text(millis: pa.Int64Array) -> pa.StringArray:
    """Format milliseconds of a local clock; far quicker than ``strftime`` on every row."""
    values = pc.fill_null(millis, 0).to_numpy(zero_copy_only=False)
    days, rest = np.divmod(values, _DAY_MILLIS)
    seconds, fractions = np.divmod(rest, 1000)
    dates = pa.array(days.astype(np.int32), pa.int32(), mask=_null_mask(millis)).cast(pa.date32())
    return pc.binary_join_element_wise(
        dates.cast(pa.string()),
        _second_texts().take(pa.array(seconds)),
        _fraction_texts().take(pa.array(fractions)),
        "",
    )


def _null_mask(column: pa.Array) -> npt.NDArray[np.bool_] | None:
    return flags_of(column.is_null()) if column.null_count else None


@cache
def _second_texts() -> pa.StringArray:
    seconds = range(_DAY_MILLIS // 1000)
    return pa.array(f" {s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in seconds)


@cache
def _fraction_texts() -> pa.StringArray:
    # Java keeps one digit at least and no trailing zero beyond it.
    return pa.array(f".{ms:03}"[:2] + f"{ms:03}"[1:].rstrip("0") for ms in range(1000))


_FORMATS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.StringArray]], ...]
_FORMATS = (
    (pa.types.is_string, lambda column: column),
    (pa.types.is_large_string, _cast_text),
    (pa.types.is_integer, _cast_text),
    (pa.types.is_boolean, _cast_text),
    (pa.types.is_decimal, _cast_text),
    (pa.types.is_null, _cast_text),
    (pa.types.is_float32, float_text),
    (pa.types.is_float64, float_text),
    (pa.types.is_date, _date_text),
    (pa.types.is_binary, _binary_text),
    (pa.types.is_large_binary, _binary_text),
    (pa.types.is_fixed_size_binary, _binary_text),
)
