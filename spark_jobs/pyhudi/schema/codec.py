"""Avro object containers to bytes and back."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import fastavro
from fastavro.types import Schema

from pyhudi.errors import CorruptTableError


def write_container(schema: Schema, record: Mapping[str, Any]) -> bytes:
    """Pack one record into an Avro object container with its schema, uncompressed.

    Raises:
        ValueError: the record does not fit the schema.
    Source: TimelineMetadataUtils.serializeAvroMetadata, Hudi 0.15.
    """
    sink = io.BytesIO()
    fastavro.writer(sink, schema, [record], codec="null")
    return sink.getvalue()


def read_container(data: bytes) -> list[dict[str, Any]]:
    """Unpack the records of an Avro object container by the schema it carries.

    Raises:
        CorruptTableError: the bytes are no Avro container, or end too early.
    """
    try:
        return [dict(record) for record in fastavro.reader(io.BytesIO(data))]
    except (ValueError, EOFError, IndexError, KeyError) as error:
        raise CorruptTableError(
            f"an Avro container of {len(data)} bytes cannot be read: {error}"
        ) from error
