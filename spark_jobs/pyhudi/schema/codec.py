"""Avro object containers to bytes and back."""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
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
