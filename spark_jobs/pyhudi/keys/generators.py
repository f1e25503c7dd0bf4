"""Which key generator a table has, and what it makes of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.config.options.keygen import (
    COMPLEX,
    CUSTOM,
    GLOBAL_DELETE,
    NON_PARTITION,
    SIMPLE,
    TIMESTAMP,
    PartitionKind,
    class_of_type,
    plain_class,
)
from pyhudi.config.write import PARTITION_PATH_FIELD
from pyhudi.errors import OptionError, RequestError, UnsupportedError
from pyhudi.keys.dates.timestamp_path import TimestampPath
from pyhudi.keys.java_text import java_text
from pyhudi.keys.partition_path import partition_paths
from pyhudi.keys.record_key import KeyEncoding, record_keys
from pyhudi.schema.columns import flags_of, one_array

# One class for each way to make keys and paths; those for Avro records make the same.
_FIXED_FLAT = (NON_PARTITION, GLOBAL_DELETE)
_RECORD_KEY = "record key"
_PARTITION_PATH = "partition path"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGenerator:
    """How a table turns rows into record keys and partition paths.

    Without ``record_key_fields`` keys are made without looking at the rows, and only paths come
    from here. ``partition_kinds`` are those of a custom generator, one a field; ``timestamps``
    formats the fields that go by time. ``consistent_logical_timestamp`` formats timestamps in the
    ``timezone``, as Hudi's row writer does in a bulk insert. ``single_field_complex_prefix``
    decides whether a complex key of one field reads ``id:1`` or ``1``: writers of one table must
    agree on it, and Hudi's versions do not.

    Raises: UnsupportedError for another class, OptionError when the fields do not suit the class.
    Source: SimpleKeyGenerator, ComplexKeyGenerator, NonpartitionedKeyGenerator, CustomKeyGenerator,
        TimestampBasedKeyGenerator, GlobalDeleteKeyGenerator, Hudi 0.15 and 1.1.
    """

    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    key_generator_class: str
    partition_kinds: tuple[PartitionKind, ...] = ()
    timestamps: TimestampPath | None = None
    hive_style: bool = False
    url_encode: bool = False
    consistent_logical_timestamp: bool = False
    timezone: str = "UTC"
    single_field_complex_prefix: bool = False

    def __post_init__(self) -> None:
        kind = plain_class(self.key_generator_class)
        if kind is None:
            raise UnsupportedError(
                f"key generator {self.key_generator_class!r} is not supported; "
                "supported are those of Hudi"
            )
        if kind in (SIMPLE, TIMESTAMP):
            self._check_single_fields(kind)
        if kind == CUSTOM and len(self.partition_kinds) != len(self.partition_fields):
            raise OptionError(
                f"{CUSTOM} needs the kind of each partition field in {PARTITION_PATH_FIELD.key}, "
                "as in city:SIMPLE,moment:TIMESTAMP; tables of version 6 do not record it"
            )
        if self.timestamps is None and self._timed_fields:
            raise OptionError(
                f"the partition fields {', '.join(self._timed_fields)} go by time, and nothing is "
                "said of how"
            )

    def _check_single_fields(self, kind: str) -> None:
        if len(self.record_key_fields) > 1 or len(self.partition_fields) != 1:
            raise OptionError(
                f"{kind} takes one record key field and one partition field, found "
                f"({', '.join(self.record_key_fields)}) and ({', '.join(self.partition_fields)}); "
                f"use {COMPLEX} for several and {NON_PARTITION} for no partition field"
            )

    @property
    def encoding(self) -> KeyEncoding:
        """How record key fields become one string."""
        if len(self.record_key_fields) > 1:
            return KeyEncoding.NAMED_VALUES
        kind = plain_class(self.key_generator_class)
        has_prefix = kind == COMPLEX and self.single_field_complex_prefix
        if has_prefix or kind == GLOBAL_DELETE:
            return KeyEncoding.NAMED_VALUES
        return KeyEncoding.VALUE

    @property
    def path_fields(self) -> tuple[str, ...]:
        """The fields that make directory levels: none when the class ignores partition fields."""
        is_flat = plain_class(self.key_generator_class) in _FIXED_FLAT
        return () if is_flat else self.partition_fields

    @property
    def generates_keys(self) -> bool:
        """Whether rows get keys that have nothing to do with their values."""
        return not self.record_key_fields

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The top-level columns that record keys are made of."""
        return tuple(dict.fromkeys(name.partition(".")[0] for name in self.record_key_fields))

    @property
    def _timed_fields(self) -> tuple[str, ...]:
        kind = plain_class(self.key_generator_class)
        if kind == TIMESTAMP:
            return self.partition_fields
        if kind != CUSTOM:
            return ()
        kinds = zip(self.partition_fields, self.partition_kinds, strict=True)
        return tuple(name for name, each in kinds if each is PartitionKind.TIMESTAMP)

    def check(self, schema: pa.Schema) -> None:
        """Refuse rows that keys or paths cannot be made from, whatever their values.

        Raises: as ``record_keys`` and ``partition_paths``, but for values.
        """
        nothing = schema.empty_table()
        self.partition_paths(nothing)
        if not self.generates_keys:
            self.record_keys(nothing)

    def record_keys(self, batch: pa.RecordBatch | pa.Table) -> pa.StringArray:
        """Compute the record keys of a batch.

        Shapes: a string array without nulls, one entry per row of the batch, in its order.
        Not: keys of a table that generates them, see ``generated_keys``.
        Raises: RequestError when a field is no column of the batch; RecordKeyError for null or
            empty keys; UnsupportedError for a column type that has no text.
        """
        texts: list[tuple[str, pa.StringArray]] = []
        for name in self.record_key_fields:
            column = _column(batch, name, _RECORD_KEY)
            texts.append((name, self._text(column, name, _RECORD_KEY)))
        return record_keys(texts, self.encoding)

    def partition_paths(self, batch: pa.RecordBatch | pa.Table) -> pa.StringArray:
        """Compute the partition paths of a batch.

        Shapes: a string array without nulls, one entry per row of the batch, in its order.
        Raises: RequestError and UnsupportedError as ``record_keys``.
        """
        texts: list[tuple[str, pa.StringArray]] = []
        timed = self._timed_fields
        for name in self.path_fields:
            column = _column(batch, name, _PARTITION_PATH)
            if name in timed and self.timestamps is not None:
                texts.append((name, self._time_text(column, name, self.timestamps)))
                continue
            if pa.types.is_primitive(column.type):
                # Partition values repeat: format each distinct one once.
                column = column.dictionary_encode()
            texts.append((name, self._text(column, name, _PARTITION_PATH)))
        return partition_paths(
            texts, num_rows=batch.num_rows, hive_style=self.hive_style, url_encode=self.url_encode
        )

    def keyless(self, batch: pa.RecordBatch | pa.Table) -> npt.NDArray[np.bool_]:
        """Rows without a record key: all of its fields are null or empty.

        Shapes: one entry a row.
        """
        missing = np.full(batch.num_rows, not self.generates_keys)
        for name in self.record_key_fields:
            column = _column(batch, name, _RECORD_KEY)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            is_missing = column.is_null()
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                is_missing = pc.fill_null(pc.equal(column, ""), fill_value=True)
            missing &= flags_of(is_missing)
        return missing

    def pathless(self, batch: pa.RecordBatch | pa.Table) -> dict[str, pa.BooleanArray]:
        """Rows without a partition path, by the field to blame: texts that should be dates.

        Shapes: one entry a row and field.
        """
        if self.timestamps is None:
            return {}
        return {
            name: self.timestamps.unread(_column(batch, name, _PARTITION_PATH))
            for name in self._timed_fields
        }

    def _text(self, column: pa.Array, name: str, role: str) -> pa.StringArray:
        try:
            return java_text(
                column, timestamp_zone=self.timezone if self.consistent_logical_timestamp else None
            )
        except UnsupportedError as error:
            raise UnsupportedError(f"{role} field {name!r}: {error}") from error

    def _time_text(self, column: pa.Array, name: str, formatted: TimestampPath) -> pa.StringArray:
        try:
            return formatted.texts(column)
        except UnsupportedError as error:
            raise UnsupportedError(f"{_PARTITION_PATH} field {name!r}: {error}") from error


def infer_key_generator_class(
    record_key_fields: Sequence[str], partition_fields: Sequence[str], configured: str | None
) -> str:
    """Name the key generator class: the configured one (class or type), else by the fields.

    Source: KeyGenUtils.inferKeyGeneratorType and KeyGeneratorType, Hudi 0.15 and 1.1.
    """
    if configured:
        return class_of_type(configured)
    if not partition_fields:
        return NON_PARTITION
    if ":" in partition_fields[0]:
        return CUSTOM
    # Generated keys have no field at all and count as a single one.
    return SIMPLE if len(partition_fields) == 1 and len(record_key_fields) <= 1 else COMPLEX


def paths_hold_values(key_generator_class: str | None) -> bool:
    """Tell whether partition paths hold the partition columns' own values.

    Timestamp-based and custom generators put derived text into the path, so a reader must neither
    prune by it nor take it for the column.

    Source: TimestampBasedKeyGenerator, CustomKeyGenerator, Hudi 0.15 and 1.1.
    """
    if key_generator_class is None:
        return False
    return plain_class(key_generator_class) in (SIMPLE, COMPLEX, NON_PARTITION)


def _column(batch: pa.RecordBatch | pa.Table, name: str, role: str) -> pa.Array:
    """Find a column, or a field of nested structs by its dotted name."""
    top, *inner = [name] if name in batch.schema.names else name.split(".")
    found = batch.schema.get_all_field_indices(top)
    if len(found) != 1:
        raise _no_column(batch.schema, name, role)
    column = one_array(batch.column(found[0]))
    for part in inner:
        if not pa.types.is_struct(column.type) or column.type.get_field_index(part) < 0:
            raise _no_column(batch.schema, name, role)
        column = pc.struct_field(column, part)
    return column


def _no_column(schema: pa.Schema, name: str, role: str) -> RequestError:
    return RequestError(
        f"{role} field {name!r} is not a column of the rows to write; "
        f"the columns are {', '.join(schema.names)}"
    )
