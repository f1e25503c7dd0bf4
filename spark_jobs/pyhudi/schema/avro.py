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
    except ValueError as error:
        raise SchemaError(
            f"an Avro schema is not JSON: {error}; it reads {text[:200]!r}"
        ) from error
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise SchemaError(f"an Avro record schema was expected; found {text[:200]!r}")
    return schema


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
