"""Arrow types to Avro types and back, as Hudi on Spark converts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from pyhudi.errors import SchemaError
from pyhudi.schema.avro import AvroSchema, AvroType, is_name, nullable, record_name, split_union

MAX_DECIMAL_PRECISION: Final = 38

_PLAIN_TO_ARROW: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "enum": pa.string(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
}
PLAIN: Final = frozenset(_PLAIN_TO_ARROW.values())
"""The types without parameters that tables keep as they are, dates aside."""
STORED_AS: Final[Mapping[pa.DataType, pa.DataType]] = {
    pa.int8(): pa.int32(),
    pa.int16(): pa.int32(),
    pa.uint8(): pa.int32(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
"""Types that tables keep as another."""

_PLAIN_TO_AVRO: Final[dict[pa.DataType, AvroType]] = {
    kind: name for name, kind in _PLAIN_TO_ARROW.items() if name not in ("enum", "fixed")
}
_PLAIN_TO_AVRO.update({kind: _PLAIN_TO_AVRO[stored] for kind, stored in STORED_AS.items()})

_LOGICAL_TO_ARROW: Final[Mapping[tuple[str, str], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("ms", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}


def arrow_to_avro(schema: pa.Schema, table_name: str) -> AvroSchema:
    """The Avro record of a table's columns.

    A nullable column becomes a union of null and its type with null as the default, another one
    the type itself. Decimals become fixed types of the least size, named after their column.

    Raises:
        SchemaError: a column whose name or type Avro has no place for.
    Source: SchemaConverters.toAvroType, AvroConversionUtils.convertStructTypeToAvroSchema,
    Hudi 0.15 and 1.1.
    """
    name, namespace = record_name(table_name)
    return _record_to_avro(list(schema), name, namespace)


_BAD_SCHEMA: Final = (KeyError, TypeError, ValueError, AttributeError, RecursionError)


def avro_to_arrow(schema: Mapping[str, Any]) -> pa.Schema:
    """The Arrow schema of an Avro record.

    Enums and uuids become strings, fixed types without a logical type binary, times of day the
    numbers they are stored as.

    Raises:
        SchemaError: a recursive type, an unknown one, or a union of several types; or a schema
            that lacks something.
    Source: SchemaConverters.toSqlType, Hudi 0.15 and 1.1.
    """
    try:
        return pa.schema(list(_ArrowTypes().record(schema, "", "")))
    except _BAD_SCHEMA as error:
        raise SchemaError(f"an Avro schema cannot be followed: {error!r}") from error


def decimal_size(precision: int) -> int:
    """Bytes of the least two's-complement number that holds ``precision`` decimal digits.

    Source: Decimal.minBytesForPrecision, Spark 3.5.
    """
    greatest: int = 10**precision - 1
    return (greatest.bit_length() + 8) // 8


def _record_to_avro(fields: list[pa.Field], name: str, namespace: str) -> AvroSchema:
    inside = f"{namespace}.{name}"
    return {
        "type": "record",
        "name": name,
        "namespace": namespace,
        "fields": [_field_to_avro(field, inside) for field in fields],
    }


def _field_to_avro(field: pa.Field, namespace: str) -> dict[str, Any]:
    if not is_name(field.name):
        raise SchemaError(
            f"column {field.name!r} cannot be kept under this name: Avro allows letters, digits "
            "and underscores, no digit first; rename it"
        )
    kind = _type_to_avro(field.type, field.name, namespace)
    if field.nullable:
        return {"name": field.name, "type": nullable(kind), "default": None}
    return {"name": field.name, "type": kind}


def _type_to_avro(kind: pa.DataType, name: str, namespace: str) -> AvroType:
    if kind in _PLAIN_TO_AVRO:
        return _PLAIN_TO_AVRO[kind]
    if pa.types.is_dictionary(kind):
        return _type_to_avro(kind.value_type, name, namespace)
    if pa.types.is_decimal128(kind):
        return _decimal_to_avro(kind, name, namespace)
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return _time_to_avro(kind)
    if pa.types.is_nested(kind):
        return _nested_to_avro(kind, name, namespace)
    raise _no_avro_type(kind, name, namespace)


def _time_to_avro(kind: pa.DataType) -> AvroType:
    if pa.types.is_date(kind):
        return {"type": "int", "logicalType": "date"}
    logical = "timestamp" if kind.tz else "local-timestamp"
    unit = "millis" if kind.unit == "ms" else "micros"
    return {"type": "long", "logicalType": f"{logical}-{unit}"}


def _nested_to_avro(kind: pa.DataType, name: str, namespace: str) -> AvroType:
    if pa.types.is_struct(kind):
        return _record_to_avro(list(kind), name, namespace)
    if pa.types.is_map(kind):
        return {"type": "map", "values": _element_to_avro(kind.item_field, name, namespace)}
    if is_any_list(kind):
        return {"type": "array", "items": _element_to_avro(kind.value_field, name, namespace)}
    raise _no_avro_type(kind, name, namespace)


def _no_avro_type(kind: pa.DataType, name: str, namespace: str) -> SchemaError:
    return SchemaError(
        f"column {namespace}.{name} has the type {kind}, which a Hudi table cannot keep; "
        "cast it to another"
    )


def _element_to_avro(element: pa.Field, name: str, namespace: str) -> AvroType:
    kind = _type_to_avro(element.type, name, namespace)
    return nullable(kind) if element.nullable else kind


def _decimal_to_avro(kind: pa.Decimal128Type, name: str, namespace: str) -> AvroType:
    return {
        "type": "fixed",
        "name": "fixed",
        "namespace": f"{namespace}.{name}",
        "size": decimal_size(kind.precision),
        "logicalType": "decimal",
        "precision": kind.precision,
        "scale": kind.scale,
    }


def is_any_list(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's list types."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


class _ArrowTypes:
    """Arrow types of one Avro schema, with the named types met so far."""

    def __init__(self) -> None:
        # None stands for a record whose fields are still being read.
        self._named: dict[str, pa.DataType | None] = {}

    def record(self, record: Mapping[str, Any], namespace: str, where: str) -> pa.StructType:
        """The struct of an Avro record; ``where`` is the path of the column it is."""
        full_name, inside = _full_name(record, namespace)
        self._named[full_name] = None
        fields = []
        for field in record["fields"]:
            path = f"{where}.{field['name']}" if where else str(field["name"])
            fields.append(self.field(str(field["name"]), field["type"], inside, path))
        struct = pa.struct(fields)
        self._named[full_name] = struct
        return struct

    def field(self, name: str, kind: AvroType, namespace: str, where: str) -> pa.Field:
        """The Arrow field of an Avro type that may be a union with null."""
        inner, is_nullable = split_union(kind, where)
        return pa.field(name, self._type(inner, namespace, where), nullable=is_nullable)

    def _type(self, kind: AvroType, namespace: str, where: str) -> pa.DataType:
        if isinstance(kind, str):
            return self._by_name(kind, namespace, where)
        if not isinstance(kind, dict):
            raise SchemaError(f"column {where} has the Avro type {kind}, which is none")
        match kind["type"]:
            case "record":
                return self.record(kind, namespace, where)
            case "array":
                return pa.list_(self.field("element", kind["items"], namespace, where))
            case "map":
                values = self.field("value", kind["values"], namespace, where)
                return pa.map_(pa.string(), values)
            case str() as plain if plain in _PLAIN_TO_ARROW:
                found = _logical_to_arrow(kind, where)
                if plain in ("fixed", "enum"):
                    self._named[_full_name(kind, namespace)[0]] = found
                return found
            case other:
                return self._type(other, namespace, where)

    def _by_name(self, name: str, namespace: str, where: str) -> pa.DataType:
        if name in _PLAIN_TO_ARROW:
            return _PLAIN_TO_ARROW[name]
        full_name = name if "." in name or not namespace else f"{namespace}.{name}"
        if full_name not in self._named:
            raise SchemaError(f"column {where} has the unknown Avro type {name}")
        found = self._named[full_name]
        if found is None:
            raise SchemaError(f"column {where} contains itself by way of the record {full_name}")
        return found


def _logical_to_arrow(kind: Mapping[str, Any], where: str) -> pa.DataType:
    plain, logical = kind["type"], kind.get("logicalType")
    if logical == "decimal" and plain in ("fixed", "bytes"):
        precision, scale = int(kind["precision"]), int(kind.get("scale", 0))
        if precision > MAX_DECIMAL_PRECISION:
            raise SchemaError(
                f"column {where} is a decimal of {precision} digits; "
                f"at most {MAX_DECIMAL_PRECISION} can be kept"
            )
        return pa.decimal128(precision, scale)
    return _LOGICAL_TO_ARROW.get((plain, str(logical)), _PLAIN_TO_ARROW[plain])


def _full_name(schema: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """The full name of a named type, and the namespace that holds inside it."""
    name = str(schema["name"])
    if "." in name:
        return name, name.rpartition(".")[0]
    inside = str(schema.get("namespace", namespace))
    return (f"{inside}.{name}" if inside else name), inside
