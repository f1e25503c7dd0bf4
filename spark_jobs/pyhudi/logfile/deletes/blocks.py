"""The content of a delete block, both ways: record keys, and which version of a record goes.

Source: HoodieDeleteBlock, HoodieDeleteRecord.avsc, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum
from typing import Any, Final

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.logfile.avro.values import storage_type, with_logical_type

CONTENT_VERSION: Final = 3
_NAMESPACE: Final = "org.apache.hudi.avro.model"
_DECIMAL: Final = pa.decimal128(30, 15)


class OrderingKind(IntEnum):
    """The kinds of ordering values in a delete record, by their number in the union.

    ``ARRAY``, values of several ordering columns, is known from Hudi 1.1 on. ``LOCAL_DATE`` is one
    of the kinds that the values of an array have, and has the number of ``ARRAY`` there.
    """

    NONE = 0
    BOOLEAN = 1
    INT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    BYTES = 6
    STRING = 7
    DATE = 8
    DECIMAL = 9
    TIME_MICROS = 10
    TIMESTAMP_MICROS = 11
    ARRAY = 12
    LOCAL_DATE = 13


_AVRO: Final[Mapping[OrderingKind, tuple[str, str]]] = {
    OrderingKind.BOOLEAN: ("BooleanWrapper", "boolean"),
    OrderingKind.INT: ("IntWrapper", "int"),
    OrderingKind.LONG: ("LongWrapper", "long"),
    OrderingKind.FLOAT: ("FloatWrapper", "float"),
    OrderingKind.DOUBLE: ("DoubleWrapper", "double"),
    OrderingKind.BYTES: ("BytesWrapper", "bytes"),
    OrderingKind.STRING: ("StringWrapper", "string"),
    OrderingKind.DATE: ("DateWrapper", "int"),
    OrderingKind.DECIMAL: ("DecimalWrapper", "bytes"),
    OrderingKind.TIME_MICROS: ("TimeMicrosWrapper", "long"),
    OrderingKind.TIMESTAMP_MICROS: ("TimestampMicrosWrapper", "long"),
    OrderingKind.LOCAL_DATE: ("LocalDateWrapper", "int"),
}
ARROW: Final[Mapping[OrderingKind, pa.DataType]] = {
    OrderingKind.BOOLEAN: pa.bool_(),
    OrderingKind.INT: pa.int32(),
    OrderingKind.LONG: pa.int64(),
    OrderingKind.FLOAT: pa.float32(),
    OrderingKind.DOUBLE: pa.float64(),
    OrderingKind.BYTES: pa.binary(),
    OrderingKind.STRING: pa.string(),
    OrderingKind.DATE: pa.date32(),
    OrderingKind.DECIMAL: _DECIMAL,
    OrderingKind.TIME_MICROS: pa.int64(),
    OrderingKind.TIMESTAMP_MICROS: pa.timestamp("us", "UTC"),
    OrderingKind.LOCAL_DATE: pa.date32(),
}
_ARRAY_NAME: Final = f"{_NAMESPACE}.ArrayWrapper"
_NAMES: Final = {kind: f"{_NAMESPACE}.{name}" for kind, (name, _) in _AVRO.items()}
_KINDS: Final = {name: kind for kind, name in _NAMES.items()} | {_ARRAY_NAME: OrderingKind.ARRAY}


def _wrapper(kind: OrderingKind) -> dict[str, Any]:
    name, plain = _AVRO[kind]
    return {
        "type": "record",
        "name": name,
        "namespace": _NAMESPACE,
        "fields": [{"name": "value", "type": plain}],
    }


def _list_schema() -> Any:
    alone = [kind for kind in _AVRO if kind is not OrderingKind.LOCAL_DATE]
    scalars = ["null", *(_NAMES[kind] for kind in alone)]
    date = _wrapper(OrderingKind.LOCAL_DATE)
    several = {
        "type": "record",
        "name": "ArrayWrapper",
        "namespace": _NAMESPACE,
        "fields": [
            {
                "name": "wrappedValues",
                "type": ["null", {"type": "array", "items": [*scalars, date]}],
            }
        ],
    }
    record = {
        "type": "record",
        "name": "HoodieDeleteRecord",
        "namespace": _NAMESPACE,
        "fields": [
            {"name": "recordKey", "type": ["null", "string"]},
            {"name": "partitionPath", "type": ["null", "string"]},
            {"name": "orderingVal", "type": ["null", *map(_wrapper, alone), several]},
        ],
    }
    return fastavro.parse_schema(
        {
            "type": "record",
            "name": "HoodieDeleteRecordList",
            "namespace": _NAMESPACE,
            "fields": [{"name": "deleteRecordList", "type": {"type": "array", "items": record}}],
        }
    )


_SCHEMA: Final = _list_schema()


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingColumn:
    """What delete records have for one ordering column.

    ``kinds`` says of what kind the value of each record is, ``values`` has those of each kind that
    occurs.

    Shapes: one entry a record in ``kinds`` and in each of the ``values``, which is null for records
        of other kinds and has the type of its kind in ``ARROW``.
    """

    kinds: npt.NDArray[np.int8]
    values: Mapping[OrderingKind, pa.Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletes:
    """The records of a delete block.

    ``kinds`` says of what kind each ordering value is, ``orderings`` has the values of each kind
    that occurs. Records of the kind ``ARRAY`` have their values in ``several``, one for each
    ordering column.

    Shapes: one entry a record in ``keys`` and ``partitions``, texts that may be null, in ``kinds``
        and in each of the ``orderings``, as in an ``OrderingColumn``, and in each of the
        ``several``, whose kind is ``NONE`` for records with fewer values.
    """

    keys: pa.StringArray
    partitions: pa.StringArray
    kinds: npt.NDArray[np.int8]
    orderings: Mapping[OrderingKind, pa.Array] = field(default_factory=dict)
    several: tuple[OrderingColumn, ...] = ()

    def __len__(self) -> int:
        return len(self.keys)


def decode_deletes(content: bytes, *, where: str) -> Deletes:
    """The records of a delete block; ``where`` names it in errors.

    Raises:
        UnsupportedError: a block of a release before 0.13, which is serialised Java.
        CorruptTableError: bytes that are no delete records.
    """
    version, length = struct.unpack_from(">ii", content) if len(content) >= 8 else (-1, 0)
    if version in (1, 2):
        raise UnsupportedError(
            f"{where} keeps its keys as Kryo writes Java objects (version {version}), which is not "
            "read; compact the table with Hudi"
        )
    if version != CONTENT_VERSION or length != len(content) - 8:
        raise CorruptTableError(
            f"{where} states the version {version} and {length} of {len(content) - 8} bytes"
        )
    source = io.BytesIO(content)
    source.seek(8)
    try:
        found = fastavro.schemaless_reader(source, _SCHEMA, None, return_record_name=True)
        deletes = _columns(found["deleteRecordList"])
    except (ValueError, EOFError, IndexError, KeyError, OverflowError, TypeError) as error:
        raise CorruptTableError(f"{where} holds no delete records: {error!r}") from error
    except pa.ArrowException as error:
        raise CorruptTableError(f"{where} holds no delete records: {error}") from error
    if source.tell() != len(content):
        raise CorruptTableError(f"{where} has {len(content) - source.tell()} bytes left over")
    return deletes


def encode_deletes(deletes: Deletes) -> bytes:
    """The content of a delete block.

    Source: HoodieDeleteBlock.getContentBytes, Hudi 0.15 and 1.1.
    """
    values = _wrapped(OrderingColumn(kinds=deletes.kinds, values=deletes.orderings))
    arrays = np.flatnonzero(deletes.kinds == OrderingKind.ARRAY).tolist()
    columns = [_wrapped(column) for column in deletes.several] if arrays else []
    for at in arrays:
        values[at] = (_ARRAY_NAME, {"wrappedValues": [column[at] for column in columns]})
    keys, partitions = deletes.keys.to_pylist(), deletes.partitions.to_pylist()
    records = [
        {"recordKey": key, "partitionPath": path, "orderingVal": value}
        for key, path, value in zip(keys, partitions, values, strict=True)
    ]
    sink = io.BytesIO()
    fastavro.schemaless_writer(sink, _SCHEMA, {"deleteRecordList": records})
    payload = sink.getvalue()
    return struct.pack(">ii", CONTENT_VERSION, len(payload)) + payload


def _wrapped(column: OrderingColumn) -> list[Any]:
    """The values of a column as Avro has them, each with the name of its wrapper."""
    values: list[Any] = [None] * len(column.kinds)
    for kind, found in column.values.items():
        plain = _plain_values(found, kind)
        for at in np.flatnonzero(column.kinds == kind).tolist():
            values[at] = (_NAMES[kind], {"value": plain[at]})
    return values


def _columns(records: list[dict[str, Any]]) -> Deletes:
    single = _unwrapped([record["orderingVal"] for record in records])
    arrays: list[list[Any]] = [[] for _ in records]
    for at in np.flatnonzero(single.kinds == OrderingKind.ARRAY).tolist():
        _, wrapped = records[at]["orderingVal"]
        arrays[at] = wrapped["wrappedValues"] or []
    width = max(map(len, arrays), default=0)
    return Deletes(
        keys=pa.array([record["recordKey"] for record in records], pa.string()),
        partitions=pa.array([record["partitionPath"] for record in records], pa.string()),
        kinds=single.kinds,
        orderings=single.values,
        several=tuple(
            _unwrapped([each[position] if position < len(each) else None for each in arrays])
            for position in range(width)
        ),
    )


def _unwrapped(values: list[Any]) -> OrderingColumn:
    kinds = np.zeros(len(values), dtype=np.int8)
    found: dict[OrderingKind, list[Any]] = {}
    for at, value in enumerate(values):
        if value is None:
            continue
        name, wrapped = value
        kind = _KINDS[name]
        kinds[at] = kind
        if kind is not OrderingKind.ARRAY:
            column = found.setdefault(kind, [None] * len(values))
            column[at] = wrapped["value"]
    return OrderingColumn(
        kinds=kinds, values={kind: _typed(column, kind) for kind, column in found.items()}
    )


def _typed(values: list[Any], kind: OrderingKind) -> pa.Array:
    return with_logical_type(pa.array(values, storage_type(ARROW[kind])), ARROW[kind])


def _plain_values(column: pa.Array, kind: OrderingKind) -> list[Any]:
    """The values as Avro has them."""
    if kind is OrderingKind.DECIMAL:
        return [None if each is None else _decimal_bytes(each) for each in column.to_pylist()]
    plain: list[Any] = column.view(storage_type(column.type)).to_pylist()
    return plain


def _decimal_bytes(value: Decimal) -> bytes:
    """The least two's complement of the unscaled value, as BigInteger.toByteArray gives it."""
    unscaled = int(value.scaleb(_DECIMAL.scale))
    magnitude = unscaled if unscaled >= 0 else ~unscaled
    return unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)
