"""Avro object containers to bytes and back."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import fastavro
from fastavro.schema import SchemaParseException, UnknownType
from fastavro.types import Schema

from pyhudi.errors import CorruptTableError
from pyhudi.schema.avro import has_boundless_arrays

_BAD_BYTES: Final = (
    *(ValueError, EOFError, IndexError, KeyError, TypeError, AttributeError, OverflowError),
    *(RecursionError, SchemaParseException, UnknownType, zlib.error),
)


def write_container(schema: Schema, record: Mapping[str, Any]) -> bytes:
    """Pack one record into an Avro object container with its schema, uncompressed.

    Raises:
        ValueError: the record does not fit the schema.
    Source: TimelineMetadataUtils.serializeAvroMetadata, Hudi 0.15.
    """
    sink = io.BytesIO()
    fastavro.writer(sink, schema, [record], codec="null")
    return sink.getvalue()


def read_container(data: bytes, most: int | None = None) -> list[dict[str, Any]]:
    """Unpack the records of an Avro object container by the schema it carries.

    Shapes: the first ``most`` records, or all.

    Raises:
        CorruptTableError: the bytes are no Avro container, or end too early.
    """
    try:
        found = fastavro.reader(io.BytesIO(data))
        if has_boundless_arrays(found.writer_schema):
            raise CorruptTableError("an Avro container has arrays of values that take no bytes")
        return [dict(record) for record in islice(found, most)]
    except _BAD_BYTES as error:
        raise CorruptTableError(
            f"an Avro container of {len(data)} bytes cannot be read: {error}"
        ) from error


def write_record(schema: str, record: Mapping[str, Any]) -> bytes:
    """One record without a container around it.

    Raises:
        CorruptTableError: the record does not fit the schema.
    """
    sink = io.BytesIO()
    try:
        fastavro.schemaless_writer(sink, _parsed_schema(schema), dict(record))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise CorruptTableError(f"what was read does not fit its Avro schema: {error}") from error
    return sink.getvalue()


def read_record(data: bytes, schema: str) -> dict[str, Any]:
    """The record in bytes without a container around them.

    Raises:
        CorruptTableError: the bytes are no such record, or the text is no schema.
    """
    try:
        found = fastavro.schemaless_reader(io.BytesIO(data), _parsed_schema(schema), None)
    except (*_BAD_BYTES, SchemaParseException) as error:
        raise CorruptTableError(
            f"an Avro record of {len(data)} bytes cannot be read: {error}"
        ) from error
    if not isinstance(found, dict):
        raise CorruptTableError(f"{len(data)} bytes of Avro hold no record")
    return found


@lru_cache(maxsize=8)
def _parsed_schema(text: str) -> Schema:
    return fastavro.parse_schema(json.loads(text))
