"""Avro schemas as JSON values: text in and out, names, unions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from pyhudi.errors import SchemaError

AvroSchema: TypeAlias = dict[str, Any]
AvroType: TypeAlias = str | list[Any] | dict[str, Any]

_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_]")
_NOT_FIRST_IN_NAME = re.compile(r"^[^A-Za-z_]")
_MASK = "__"


def parse(text: str) -> AvroSchema:
    """Read a record schema from its JSON text; the order of attributes is kept.

    Raises:
        SchemaError: the text is not JSON or not a record schema.
    """
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(
            f"an Avro schema is not JSON: {error}; it reads {text[:200]!r}"
        ) from error
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise SchemaError(f"an Avro record schema was expected; found {text[:200]!r}")
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(map(_is_field, fields)):
        raise SchemaError(f"the fields of an Avro record are not as they should be: {text[:200]!r}")
    return schema


def _is_field(found: object) -> bool:
    return isinstance(found, dict) and isinstance(found.get("name"), str) and "type" in found


def has_boundless_arrays(schema: AvroType) -> bool:
    """Whether some bytes could say of a few more that they are any number of values.

    That is so where the items of an array are written with no bytes.
    """
    empty: set[str] = set()

    def is_empty(kind: AvroType) -> bool:
        if isinstance(kind, str):
            return kind == "null" or kind.rpartition(".")[2] in empty
        if isinstance(kind, list) or kind["type"] in ("array", "map", "enum"):
            return False
        if kind["type"] == "fixed":
            found = not kind["size"]
        elif kind["type"] == "record":
            found = all(is_empty(field["type"]) for field in kind["fields"])
        else:
            return is_empty(kind["type"])
        if found:
            empty.add(str(kind["name"]).rpartition(".")[2])
        return found

    def is_boundless(kind: AvroType) -> bool:
        if isinstance(kind, list):
            return any(map(is_boundless, kind))
        if isinstance(kind, str):
            return False
        inner = [field["type"] for field in kind.get("fields", ())]
        inner += [kind[name] for name in ("items", "values") if name in kind]
        inner += [] if isinstance(kind["type"], str) else [kind["type"]]
        within = any(map(is_boundless, inner))
        is_empty(kind)
        return within or (kind["type"] == "array" and is_empty(kind["items"]))

    return is_boundless(schema)


def dumps(schema: Mapping[str, Any]) -> str:
    """Write a schema as one line without spaces.

    Source: org.apache.avro.Schema.toString, as Hudi 0.15 puts it into commit metadata and footers.
    """
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def record_name(table_name: str) -> tuple[str, str]:
    """Name and namespace of a table's record.

    Source: AvroConversionUtils.getAvroRecordNameAndNamespace, HoodieAvroUtils.sanitizeName,
    Hudi 0.15.
    """
    name = _NOT_IN_NAME.sub(_MASK, _NOT_FIRST_IN_NAME.sub(_MASK, table_name))
    return f"{name}_record", f"hoodie.{name}"


def is_name(text: str) -> bool:
    """Whether a text may name an Avro field.

    Source: org.apache.avro.Schema.validateName, Avro 1.11.
    """
    return (
        bool(text)
        and (text[0].isalpha() or text[0] == "_")
        and all(each.isalnum() or each == "_" for each in text)
    )


def nullable(kind: AvroType) -> list[Any]:
    """The union of null and a type, null first, as Hudi writes it."""
    return ["null", kind]


def split_union(kind: AvroType, where: str) -> tuple[AvroType, bool]:
    """The type inside a union with null, and whether null is allowed.

    Raises:
        SchemaError: a union of several types besides null.
    """
    if not isinstance(kind, list):
        return kind, kind == "null"
    others = [branch for branch in kind if branch != "null"]
    if len(others) != 1:
        raise SchemaError(
            f"column {where} is the Avro union {kind}; "
            "only a union of null and one type can be kept"
        )
    return others[0], len(others) < len(kind)
