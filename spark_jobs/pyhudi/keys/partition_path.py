"""The text of a partition path, and the way back to partition values."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

_ESCAPED_CLASS = r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]"
_ESCAPED = re.compile(_ESCAPED_CLASS)
_ESCAPE_SEQUENCE = re.compile("%([0-9a-fA-F]{2})")
_LONG = re.compile(r"-?\d+")


def escape(value: str) -> str:
    """Replace the characters Hive cannot have in a folder name by ``%XX``.

    Source: PartitionPathEncodeUtils.escapePathName, Hudi 0.15 and 1.1.
    """
    return _ESCAPED.sub(lambda found: f"%{ord(found.group()):02X}", value)


def unescape(text: str) -> str:
    """Undo ``escape``; any ``%`` with two hexadecimal digits counts.

    Source: PartitionPathEncodeUtils.unescapePathName, Hudi 0.15 and 1.1.
    """
    return _ESCAPE_SEQUENCE.sub(lambda found: chr(int(found.group(1), 16)), text)


def partition_paths(
    columns: Sequence[tuple[str, pa.StringArray]],
    *,
    num_rows: int,
    hive_style: bool,
    url_encode: bool,
) -> pa.StringArray:
    """Join the text of the partition fields into paths relative to the table's base path.

    A null or empty value becomes ``__HIVE_DEFAULT_PARTITION__``. Without ``url_encode`` a ``/`` in
    a value makes a further directory level. No columns give the path of a non-partitioned table.

    Shapes: (field name, text column) pairs in path order; one path per row, never null, without
        leading or trailing slash of its own.
    Source: KeyGenUtils.getRecordPartitionPath and getPartitionPath, Hudi 0.15 and 1.1.
    """
    if not columns:
        return pa.repeat(pa.scalar("", pa.string()), num_rows)
    levels = [
        _level(name, text, hive_style=hive_style, url_encode=url_encode) for name, text in columns
    ]
    return levels[0] if len(levels) == 1 else pc.binary_join_element_wise(*levels, "/")


def _level(
    name: str, text: pa.StringArray, *, hive_style: bool, url_encode: bool
) -> pa.StringArray:
    # Partition values repeat, so the work is done once per distinct value.
    encoded = text.dictionary_encode(null_encoding="encode")
    values = pc.fill_null(encoded.dictionary, "")
    values = pc.if_else(pc.equal(values, ""), DEFAULT_PARTITION, values)
    if url_encode:
        values = _escape_column(values)
    if hive_style:
        values = pc.binary_join_element_wise(f"{name}=", values, "")
    return values.take(encoded.indices)


def _escape_column(values: pa.StringArray) -> pa.StringArray:
    special = pc.match_substring_regex(values, _ESCAPED_CLASS)
    if not pc.any(special).as_py():
        return values
    escaped = [escape(value) for value in values.filter(special).to_pylist()]
    return pc.replace_with_mask(values, special, pa.array(escaped, pa.string()))


def partition_values(
    path: str,
    fields: Sequence[str],
    types: Sequence[pa.DataType],
    *,
    hive_style: bool,
    url_encoded: bool,
) -> dict[str, pa.Scalar] | None:
    """Read the partition fields' values back from a partition path.

    One field over several levels takes the whole path as its value. The default partition gives a
    null scalar; in a string field it may stand for an empty string as well. Good only for key
    generators that put the columns' own values into the path (``paths_hold_values``).

    Returns: a scalar of the asked type for each field, or None when the path does not correspond
        to the fields or a level cannot be read as its type.
    Source: HoodieSparkUtils.parsePartitionColumnValues, Hudi 0.15 and 1.1.
    """
    if not fields:
        return {} if not path else None
    levels = [path] if len(fields) == 1 else path.split("/")
    if len(levels) != len(fields):
        return None
    values: dict[str, pa.Scalar] = {}
    for level, field, kind in zip(levels, fields, types, strict=True):
        text = level
        if hive_style:
            if not level.startswith(f"{field}="):
                return None
            text = level[len(field) + 1 :]
        value = _parse(unescape(text) if url_encoded else text, kind)
        if value is None:
            return None
        values[field] = value
    return values


def _parse(text: str, kind: pa.DataType) -> pa.Scalar | None:
    if text == DEFAULT_PARTITION:
        return pa.scalar(None, kind)
    try:
        if pa.types.is_timestamp(kind):
            return _parse_timestamp(text, kind)
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return pa.scalar(bytes.fromhex(text), kind)
        if pa.types.is_integer(kind) and not _LONG.fullmatch(text):
            return None
        return pa.scalar(text).cast(kind)
    except (ValueError, pa.ArrowNotImplementedError):
        return None


def _parse_timestamp(text: str, kind: pa.DataType) -> pa.Scalar | None:
    """Read a raw long; text with date and time names no zone and so no instant."""
    if not _LONG.fullmatch(text):
        return None
    unit = "ms" if kind.unit in ("s", "ms") else "us"
    return pa.scalar(int(text), pa.int64()).cast(pa.timestamp(unit, kind.tz)).cast(kind)
