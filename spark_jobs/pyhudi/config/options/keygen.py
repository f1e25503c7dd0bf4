"""Which key generators there are, and the options of those that go by timestamps."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from pyhudi.config import option
from pyhudi.config.option import Option, declare
from pyhudi.errors import OptionError, TableMismatchError, UnsupportedError

T = TypeVar("T")

_PACKAGE = "org.apache.hudi.keygen."
SIMPLE = f"{_PACKAGE}SimpleKeyGenerator"
COMPLEX = f"{_PACKAGE}ComplexKeyGenerator"
NON_PARTITION = f"{_PACKAGE}NonpartitionedKeyGenerator"
CUSTOM = f"{_PACKAGE}CustomKeyGenerator"
TIMESTAMP = f"{_PACKAGE}TimestampBasedKeyGenerator"
GLOBAL_DELETE = f"{_PACKAGE}GlobalDeleteKeyGenerator"

CLASS_OF_TYPE: Mapping[str, str] = {
    "SIMPLE": SIMPLE,
    "SIMPLE_AVRO": f"{_PACKAGE}SimpleAvroKeyGenerator",
    "COMPLEX": COMPLEX,
    "COMPLEX_AVRO": f"{_PACKAGE}ComplexAvroKeyGenerator",
    "NON_PARTITION": NON_PARTITION,
    "NON_PARTITION_AVRO": f"{_PACKAGE}NonpartitionedAvroKeyGenerator",
    "CUSTOM": CUSTOM,
    "CUSTOM_AVRO": f"{_PACKAGE}CustomAvroKeyGenerator",
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_AVRO": f"{_PACKAGE}TimestampBasedAvroKeyGenerator",
    "GLOBAL_DELETE": GLOBAL_DELETE,
    "GLOBAL_DELETE_AVRO": f"{_PACKAGE}GlobalAvroDeleteKeyGenerator",
}
"""Key generators by the names of Hudi's enum; the table's properties have either."""

_PLAIN_CLASS = {
    name: CLASS_OF_TYPE[kind.removesuffix("_AVRO")] for kind, name in CLASS_OF_TYPE.items()
}
_TIME = "hoodie.keygen.timebased."
_OLD = "hoodie.deltastreamer.keygen.timebased."
_PARSER_CLASS = "org.apache.hudi.keygen.parser.HoodieDateTimeParser"


def class_of_type(name: str) -> str:
    """The class of a key generator by its type; any other text as it is.

    Source: KeyGeneratorType, Hudi 0.15 and 1.1.
    """
    return CLASS_OF_TYPE.get(name.upper(), name)


def type_of_class(key_generator_class: str) -> str:
    """The type of a key generator, by which tables of version 8 and later name it.

    Raises:
        UnsupportedError: a class without one.
    """
    for name, path in CLASS_OF_TYPE.items():
        if path == key_generator_class:
            return name
    raise UnsupportedError(
        f"tables of version 8 and later are made here with Hudi's own key generators alone, not "
        f"with {key_generator_class}"
    )


def plain_class(key_generator_class: str) -> str | None:
    """The class that makes the same keys and paths from rows; None for one that is not known.

    Source: HoodieSparkKeyGeneratorFactory.convertToSparkKeyGenerator, Hudi 0.15 and 1.1.
    """
    return _PLAIN_CLASS.get(key_generator_class)


class PartitionKind(Enum):
    """How one column of a custom key generator becomes a level of the partition path."""

    SIMPLE = "SIMPLE"
    TIMESTAMP = "TIMESTAMP"


def split_partition_field(text: str) -> tuple[str, PartitionKind | None]:
    """The column and the kind in ``column:kind``; None where no kind is given.

    Raises:
        OptionError: a kind that does not exist.
    Source: CustomAvroKeyGenerator.getPartitionFieldAndKeyType, Hudi 1.1.
    """
    name, colon, kind = text.partition(":")
    if not colon:
        return name, None
    if kind.upper() not in PartitionKind.__members__:
        raise OptionError(
            f"the partition field {text!r} has the kind {kind!r}; allowed: "
            f"{', '.join(PartitionKind.__members__)}"
        )
    return name, PartitionKind[kind.upper()]


class TimestampType(Enum):
    """What the values of a timestamp-based partition column are."""

    UNIX_TIMESTAMP = "UNIX_TIMESTAMP"
    DATE_STRING = "DATE_STRING"
    MIXED = "MIXED"
    EPOCHMILLISECONDS = "EPOCHMILLISECONDS"
    EPOCHMICROSECONDS = "EPOCHMICROSECONDS"
    SCALAR = "SCALAR"


class TimeUnit(Enum):
    """Units of time, by their names in Java."""

    NANOSECONDS = "NANOSECONDS"
    MICROSECONDS = "MICROSECONDS"
    MILLISECONDS = "MILLISECONDS"
    SECONDS = "SECONDS"
    MINUTES = "MINUTES"
    HOURS = "HOURS"
    DAYS = "DAYS"


_UNIT_OF_TYPE = {
    TimestampType.UNIX_TIMESTAMP: TimeUnit.SECONDS,
    TimestampType.EPOCHMILLISECONDS: TimeUnit.MILLISECONDS,
    TimestampType.EPOCHMICROSECONDS: TimeUnit.MICROSECONDS,
}


def _parser_class(text: str) -> str:
    if text != _PARSER_CLASS:
        raise ValueError(_PARSER_CLASS)
    return text


def _timed(name: str, parse: Callable[[str], T], *, default: T) -> Option[T]:
    """An option of these key generators, under its key and its older one."""
    return declare(f"{_TIME}{name}", parse, default=default, aliases=(f"{_OLD}{name}",))


TIMESTAMP_TYPE = _timed("timestamp.type", option.parse_enum(TimestampType), default=None)
"""what the values of a timestamp-based partition column are"""
SCALAR_UNIT = _timed(
    "timestamp.scalar.time.unit", option.parse_enum(TimeUnit), default=TimeUnit.SECONDS
)
"""unit of the numbers of timestamp type SCALAR"""
INPUT_FORMAT = _timed("input.dateformat", str, default="")
"""patterns that partition texts are read by, of DATE_STRING and MIXED"""
INPUT_FORMAT_DELIMITER = _timed(
    "input.dateformat.list.delimiter.regex", option.parse_text, default=","
)
"""regular expression between the patterns of the input format"""
INPUT_ZONE = _timed("input.timezone", option.parse_optional_text, default=None)
"""zone of texts that state none; UTC when absent, where Hudi takes the JVM's"""
OUTPUT_FORMAT = _timed("output.dateformat", str, default="")
"""pattern of the partition path"""
OUTPUT_ZONE = _timed("output.timezone", option.parse_optional_text, default=None)
"""zone of the partition path; when absent that of the text, else UTC"""
ZONE = _timed("timezone", option.parse_optional_text, default=None)
"""zone of both input and output; goes before theirs"""
DATE_PARSER = declare(
    "hoodie.keygen.datetime.parser.class",
    _parser_class,
    default=_PARSER_CLASS,
    aliases=("hoodie.deltastreamer.keygen.datetime.parser.class",),
)
"""class that reads dates; only Hudi's own"""

DROP_PARTITION_COLUMNS = declare(
    "hoodie.datasource.write.drop.partition.columns", option.parse_bool, default=None
)
"""partition columns are not kept in the files of a new table; readers get texts"""
POPULATE_META_FIELDS = declare("hoodie.populate.meta.fields", option.parse_bool, default=None)
"""false: the files of a new table have empty meta columns, keys are made from the rows"""

# The order of Hudi's list; all of them are persisted with the table, if they were given.
_OPTIONS: tuple[Option[Any], ...] = (
    TIMESTAMP_TYPE,
    SCALAR_UNIT,
    INPUT_FORMAT,
    INPUT_FORMAT_DELIMITER,
    INPUT_ZONE,
    OUTPUT_FORMAT,
    OUTPUT_ZONE,
    ZONE,
    DATE_PARSER,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampConfig:
    """How the values of a timestamp-based partition column become partition paths.

    ``unit`` is that of numbers, None where only texts are expected. ``input_formats`` and
    ``output_format`` are patterns in Joda's language; a zone is None where none is named.
    """

    type: TimestampType
    unit: TimeUnit | None
    input_formats: tuple[str, ...]
    output_format: str
    input_zone: str | None = None
    output_zone: str | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> TimestampConfig:
        """The rules that options state.

        Raises:
            OptionError: the type or the output format is not given, or the formats of texts are not
                where they are needed, or a value is not allowed.
        Source: TimestampBasedAvroKeyGenerator, HoodieDateTimeParser, Hudi 0.15 and 1.1.
        """
        kind = TIMESTAMP_TYPE.read(options)
        output = OUTPUT_FORMAT.read(options)
        if kind is None or not output:
            missing = TIMESTAMP_TYPE if kind is None else OUTPUT_FORMAT
            raise OptionError(
                f"a timestamp-based partition column needs {missing.key}; neither the table nor "
                "the request has it"
            )
        DATE_PARSER.read(options)
        formats = _input_formats(options)
        if kind in (TimestampType.DATE_STRING, TimestampType.MIXED) and not formats:
            raise OptionError(f"timestamp type {kind.value} needs {INPUT_FORMAT.key}")
        is_scalar = kind is TimestampType.SCALAR
        both = ZONE.read(options)
        return cls(
            type=kind,
            unit=SCALAR_UNIT.read(options) if is_scalar else _UNIT_OF_TYPE.get(kind),
            input_formats=formats,
            output_format=output,
            input_zone=both or INPUT_ZONE.read(options),
            output_zone=both or OUTPUT_ZONE.read(options),
        )


def _input_formats(options: Mapping[str, str]) -> tuple[str, ...]:
    text = INPUT_FORMAT.read(options)
    delimiter = INPUT_FORMAT_DELIMITER.read(options)
    try:
        parts = re.split(delimiter, text)
    except re.error as error:
        raise OptionError(
            f"option {INPUT_FORMAT_DELIMITER.key} is {delimiter!r}, no regular expression: {error}"
        ) from error
    return tuple(part.strip() for part in parts if part.strip())


def stated_timestamp_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of timestamp-based key generators among these, as a table records them.

    Source: HoodieTableConfig.PERSISTED_CONFIG_LIST, Hudi 1.1 (0.15 leaves the type out).
    """
    found: dict[str, str] = {}
    for each in _OPTIONS:
        for key in (each.key, *each.aliases):
            if key in options and each.key not in found:
                is_type = each is TIMESTAMP_TYPE
                # Hudi reads the type by its exact name.
                found[each.key] = options[key].strip().upper() if is_type else options[key]
    return found


def agreed_timestamp_options(
    recorded: Mapping[str, str], asked: Mapping[str, str]
) -> dict[str, str]:
    """The table's own timestamp options, completed by the request's.

    Raises:
        TableMismatchError: the request gives one another value than the table has.
    Source: HoodieWriterUtils.validateTableConfig, Hudi 0.15 and 1.1.
    """
    ours, theirs = stated_timestamp_options(asked), stated_timestamp_options(recorded)
    for key in ours.keys() & theirs.keys():
        if ours[key].strip().lower() != theirs[key].strip().lower():
            raise TableMismatchError(
                f"the table has {key} {theirs[key]!r}, the request says {ours[key]!r}; leave the "
                "option out or write to another path"
            )
    return {**ours, **theirs}
