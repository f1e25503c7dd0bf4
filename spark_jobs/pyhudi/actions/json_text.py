"""JSON as Hudi prints it. Pure.

Source: JsonUtils.getObjectMapper with writerWithDefaultPrettyPrinter (Jackson 2), Hudi 0.15.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_ESCAPES = re.compile(r"\\(?:u([0-9a-f]{4})|.)")


def pretty(value: Any) -> str:
    """A JSON value on several lines, to the byte as Jackson's default pretty printer has it.

    Objects have a line for each entry, two spaces deeper; arrays stay on their line; a colon has a
    space on both sides.
    """
    return "".join(_parts(value, 0))


def _parts(value: Any, depth: int) -> Iterable[str]:
    if isinstance(value, Mapping):
        return _object(value, depth)
    if isinstance(value, (list, tuple)):
        return _array(value, depth)
    return (_scalar(value),)


def _object(value: Mapping[str, Any], depth: int) -> Iterable[str]:
    if not value:
        yield "{ }"
        return
    indent = "  " * (depth + 1)
    opening = "{\n"
    for key, entry in value.items():
        yield f"{opening}{indent}{_scalar(key)} : "
        yield from _parts(entry, depth + 1)
        opening = ",\n"
    yield f"\n{'  ' * depth}}}"


def _array(value: Iterable[Any], depth: int) -> Iterable[str]:
    opening = "[ "
    for entry in value:
        yield opening
        yield from _parts(entry, depth)
        opening = ", "
    yield "[ ]" if opening == "[ " else " ]"


def _scalar(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # Jackson spells control characters with capital digits, Python with small ones.
    return _ESCAPES.sub(_capitals, text) if "\\u" in text else text


def _capitals(found: re.Match[str]) -> str:
    digits = found.group(1)
    return found.group() if digits is None else f"\\u{digits.upper()}"
