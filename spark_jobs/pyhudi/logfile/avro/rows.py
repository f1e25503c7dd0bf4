"""The records of an Avro data block: framed one by one, decoded into Arrow columns.

Source: HoodieAvroDataBlock, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType

from pyhudi.errors import CorruptTableError, HudiError, SchemaError, UnsupportedError
from pyhudi.logfile.avro.columns import columnar, decode_columns
from pyhudi.logfile.avro.values import storage_type, with_logical_type
from pyhudi.schema import avro
from pyhudi.schema.arrow import avro_to_arrow
from pyhudi.schema.avro import AvroType

CONTENT_VERSION: Final = 3
_BATCH_RECORDS: Final = 16_384

Places = npt.NDArray[np.int64]
_KEPT_KEYS: Final[tuple[str, ...]] = ("name", "namespace", "type", "symbols", "size")
_BAD_BYTES: Final = (ValueError, EOFError, IndexError, KeyError, OverflowError, TypeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSchema:
    """How the records of a block are decoded.

    ``plain`` is the Avro schema without logical types, parsed, and ``columnar`` the same for
    decoding by columns, None where records hold arrays or maps and are decoded one by one.
    ``arrow`` has the types that values are given in.
    """

    plain: Mapping[str, Any]
    columnar: Mapping[str, Any] | None
    arrow: pa.Schema


@lru_cache(maxsize=64)
def record_schema(text: str) -> RecordSchema:
    """The schema in a block's header.

    Raises:
        SchemaError: no record schema, or one of types that cannot be kept.
    """
    parsed = avro.parse(text)
    if avro.has_boundless_arrays(parsed):
        raise SchemaError("an Avro schema has arrays of values that take no bytes")
    try:
        arrow = avro_to_arrow(parsed)
        plain = fastavro.parse_schema(_without_logical_types(parsed))
        found = columnar(plain)
    except (SchemaParseException, UnknownType, AttributeError, *_BAD_BYTES) as error:
        raise SchemaError(f"an Avro schema cannot be followed: {error!r}") from error
    return RecordSchema(
        plain=plain, columnar=found if isinstance(found, dict) else None, arrow=arrow
    )


def iter_tables(
    content: bytes, schema_text: str, columns: Collection[str] | None, *, where: str
) -> Iterator[pa.Table]:
    """The records of an Avro data block in their order, some at a time.

    ``where`` names the block in errors.

    Shapes: those of ``columns`` that the block's schema has, in its order and types, and the first
        one where it has none of them; None for all.

    Raises:
        CorruptTableError: bytes that are no records of the schema.
    """
    with faults_in(where):
        schema = record_schema(schema_text)
        starts, ends = split_records(content)
        yield from iter_decoded(content, starts, ends, schema, columns)


def iter_decoded(
    content: bytes,
    starts: Places,
    ends: Places,
    schema: RecordSchema,
    columns: Collection[str] | None,
) -> Iterator[pa.Table]:
    """Records that lie in ``content`` from ``starts`` to ``ends``, some at a time.

    Shapes: those of ``columns`` that the schema has, and the first one where it has none of them.

    Raises:
        CorruptTableError: bytes that are no records of the schema.
        ValueError: the same, as other errors of values and bytes that ``faults_in`` turns into it.
    """
    fields = [field for field in schema.arrow if columns is None or field.name in columns]
    # Without any column there would be no rows either.
    fields = fields or list(schema.arrow)[:1]
    wanted = [field.name for field in fields]
    data = np.frombuffer(content, dtype=np.uint8)
    for first in range(0, len(starts), _BATCH_RECORDS):
        batch = slice(first, first + _BATCH_RECORDS)
        if schema.columnar is not None:
            arrays = decode_columns(
                data, starts[batch], ends[batch], schema.columnar, list(schema.arrow), wanted
            )
        else:
            records = _records(content, starts[batch], ends[batch], schema.plain)
            arrays = [_column(records, field) for field in fields]
        yield pa.Table.from_arrays(arrays, schema=pa.schema(fields))


@contextmanager
def faults_in(where: str) -> Iterator[None]:
    """What is wrong with a block's content is said of the block that ``where`` names.

    Raises:
        CorruptTableError: the content is not what the schema says.
        UnsupportedError: it is of a form that is not read.
    """
    try:
        yield
    except UnsupportedError as error:
        raise UnsupportedError(f"{where} cannot be read: {error}") from error
    except HudiError as error:
        raise CorruptTableError(f"{where} cannot be read: {error}") from error
    except (*_BAD_BYTES, pa.ArrowException) as error:
        raise CorruptTableError(f"{where} holds no records of its schema: {error!r}") from error


def split_records(content: bytes) -> tuple[Places, Places]:
    """Where each record of an Avro data block begins and ends.

    Raises:
        CorruptTableError: lengths that do not add up to the content.
    """
    at = 8
    version, count = struct.unpack_from(">ii", content) if len(content) >= at else (-1, 0)
    if not 1 <= version <= CONTENT_VERSION:
        raise CorruptTableError(f"the content begins with the version {version}")
    starts = []
    length_at = struct.Struct(">i").unpack_from
    for _ in range(count):
        if at + 4 > len(content):
            raise CorruptTableError("the content ends between two records")
        (length,) = length_at(content, at)
        if length < 0:
            raise CorruptTableError(f"a record is {length} bytes long")
        starts.append(at + 4)
        at += 4 + length
    if at != len(content):
        raise CorruptTableError(f"the records end at byte {at} of {len(content)}")
    begin = np.array(starts, dtype=np.int64)
    return begin, np.append(begin[1:] - 4, [at] * min(1, count))


def _records(
    content: bytes, starts: Places, ends: Places, plain: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Records with arrays and maps, one by one."""
    records = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        source = io.BytesIO(content[start:end])
        record: dict[str, Any] = fastavro.schemaless_reader(source, plain, None)
        if source.tell() != end - start:
            raise CorruptTableError(f"a record of {end - start} bytes ends after {source.tell()}")
        records.append(record)
    return records


def _column(records: list[dict[str, Any]], field: pa.Field) -> pa.Array:
    name = field.name
    stored = pa.array([record[name] for record in records], storage_type(field.type))
    return with_logical_type(stored, field.type)


def _without_logical_types(kind: AvroType) -> AvroType:
    """The schema in which values are what their bytes say, without defaults and documentation."""
    if isinstance(kind, list):
        return [_without_logical_types(branch) for branch in kind]
    if not isinstance(kind, dict):
        return kind
    plain: dict[str, Any] = {key: kind[key] for key in _KEPT_KEYS if key in kind}
    plain["type"] = _without_logical_types(kind["type"])
    for key in ("items", "values"):
        if key in kind:
            plain[key] = _without_logical_types(kind[key])
    if "fields" in kind:
        plain["fields"] = [
            {"name": field["name"], "type": _without_logical_types(field["type"])}
            for field in kind["fields"]
        ]
    return plain
