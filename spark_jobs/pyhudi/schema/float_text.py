"""Floating numbers as the text Java gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PLAIN_FLOOR = 1e-3
_PLAIN_CEILING = 1e7


def float_text(column: pa.Array) -> pa.StringArray:
    """Format floats and doubles as ``Float.toString`` and ``Double.toString`` do.

    The usual range is formatted as a column, and only what Java writes with an exponent one
    distinct value at a time.

    Shapes: one string per row, nulls stay null.
    Not: the surplus digits that Double.toString gave before JDK 19 for a few values
        (1.9999999999999998E23 for 2.0E23).
    """
    size = pc.abs(column)
    usual = pc.or_(
        pc.and_(pc.greater_equal(size, _PLAIN_FLOOR), pc.less(size, _PLAIN_CEILING)),
        pc.equal(size, 0.0),
    )
    text = column.cast(pa.string())
    whole = pc.invert(pc.match_substring(text, "."))
    text = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    if pc.all(usual).as_py() is not False:
        return text
    is_float = pa.types.is_float32(column.type)
    to_text = _float_text if is_float else _double_text
    unusual = column.filter(pc.invert(usual))
    return pc.replace_with_mask(text, pc.invert(usual), _by_distinct_value(unusual, to_text))


def _double_text(value: float) -> str:
    short = f"{value:.1e}"
    return _exponent_text(short if float(short) == value else repr(value))


def _float_text(value: float) -> str:
    single = np.float32(value)
    short = f"{value:.1e}"
    if np.float32(short) == single:
        return _exponent_text(short)
    return _exponent_text(np.format_float_scientific(single, unique=True))


def _exponent_text(text: str) -> str:
    """Turn ``nan``, ``-inf``, ``1.2e+05`` or ``123400000.0`` into Java's format."""
    sign, body = ("-", text[1:]) if text.startswith("-") else ("", text)
    if body == "nan":
        return "NaN"
    if body == "inf":
        return f"{sign}Infinity"
    mantissa, _, power_text = body.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(power_text or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"


def _by_distinct_value(column: pa.Array, to_text: Callable[[Any], str]) -> pa.StringArray:
    encoded = column.dictionary_encode()
    texts = pa.array([to_text(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return texts.take(encoded.indices)
