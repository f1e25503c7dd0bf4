"""The text of a record key: one field's value, or ``field:value`` pairs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import RecordKeyError

NULL_PLACEHOLDER = "__null__"
EMPTY_PLACEHOLDER = "__empty__"


class KeyEncoding(Enum):
    """How the values of the record key fields become one string.

    Source: KeyGenUtils.getRecordKey, Hudi 0.15 and 1.1.
    """

    VALUE = "value"
    """The value of the only field, bare: ``k3``."""

    NAMED_VALUES = "named_values"
    """Every field with its name: ``id:k3,sub:0``."""


def record_keys(
    columns: Sequence[tuple[str, pa.StringArray]], encoding: KeyEncoding
) -> pa.StringArray:
    """Join the text of the record key fields into record keys.

    With ``NAMED_VALUES`` a null becomes ``__null__`` and an empty text ``__empty__``, and a row
    needs one field that is neither; with ``VALUE`` the only field must be neither.

    Shapes: (field name, text column) pairs in the order of the key; one key per row, never null.
    Raises: RecordKeyError with the number of rows without a key, the first of them (counted from
        0) and the fields; ValueError when the number of columns does not suit the encoding.
    Source: KeyGenUtils.getRecordKey, Hudi 0.15 and 1.1.
    """
    if not columns or (encoding is KeyEncoding.VALUE and len(columns) != 1):
        raise ValueError(f"{encoding} does not go with {len(columns)} record key columns")
    _refuse_missing(columns)
    if encoding is KeyEncoding.VALUE:
        return columns[0][1]
    pieces: list[pa.StringArray | str] = []
    for name, text in columns:
        pieces += [f",{name}:" if pieces else f"{name}:", _with_placeholders(text)]
    return pc.binary_join_element_wise(*pieces, "")


def _with_placeholders(text: pa.StringArray) -> pa.StringArray:
    if text.null_count:
        text = pc.fill_null(text, NULL_PLACEHOLDER)
    is_empty = pc.equal(text, "")
    if not pc.any(is_empty).as_py():
        return text
    return pc.if_else(is_empty, EMPTY_PLACEHOLDER, text)


def _refuse_missing(columns: Sequence[tuple[str, pa.StringArray]]) -> None:
    missing = _is_missing(columns[0][1])
    for _, text in columns[1:]:
        if not pc.any(missing).as_py():
            return
        missing = pc.and_(missing, _is_missing(text))
    count = pc.sum(missing).as_py() or 0
    if not count:
        return
    first = pc.index(missing, value=True).as_py()
    names = ", ".join(name for name, _ in columns)
    what = "is null or empty" if len(columns) == 1 else "are all null or empty"
    raise RecordKeyError(
        f"{count} of {len(missing)} rows have no record key: {names} {what}, first in row {first} "
        "of the batch (counted from 0); fill in the key or leave these rows out"
    )


def _is_missing(text: pa.StringArray) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(text, ""), fill_value=True)
