"""The text that timestamp-based key generators put into partition paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.config.options.keygen import TimestampConfig, TimestampType, TimeUnit
from pyhudi.errors import RequestError, UnsupportedError
from pyhudi.keys.dates.pattern import (
    check_spellable,
    parse_pattern,
    resolution_millis,
    shows_offset,
    spell_date,
)
from pyhudi.keys.dates.reading import check_readable, read_date
from pyhudi.keys.dates.zones import UTC, offset_of_local, offsets_at, zone_of
from pyhudi.schema.columns import flags_of

_MULTIPLIERS = {
    TimeUnit.MILLISECONDS: 1,
    TimeUnit.SECONDS: 1000,
    TimeUnit.MINUTES: 60_000,
    TimeUnit.HOURS: 3_600_000,
    TimeUnit.DAYS: 86_400_000,
}
_DIVISORS = {TimeUnit.MICROSECONDS: 1000, TimeUnit.NANOSECONDS: 1_000_000}
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampPath:
    """Spells the values of one column as a level of the partition path.

    ``this_year`` tells the century of years that are read from two digits;
    ``consistent_logical_timestamp`` takes timestamps for what they are instead of raw numbers.

    Raises: OptionError for a pattern or a zone without meaning, UnsupportedError for one that is
        not followed here.
    Source: TimestampBasedAvroKeyGenerator, HoodieDateTimeParser, Hudi 0.15 and 1.1. Where Hudi
        takes the zone of its JVM, this takes UTC.
    """

    config: TimestampConfig
    this_year: int
    consistent_logical_timestamp: bool = False

    def __post_init__(self) -> None:
        check_spellable(self.config.output_format)
        for pattern in self.config.input_formats if self.reads_text else ():
            check_readable(pattern)
        for zone in (self.config.input_zone, self.config.output_zone):
            if zone is not None:
                zone_of(zone)

    @property
    def reads_text(self) -> bool:
        """Whether the column is of texts."""
        return self.config.type in (TimestampType.DATE_STRING, TimestampType.MIXED)

    def texts(self, column: pa.Array) -> pa.StringArray:
        """Format a column; a null counts as one tick after 1970.

        Shapes: one text a row, never null.

        Raises:
            UnsupportedError: a column that does not go with the timestamp type.
            RequestError: a text that none of the input formats reads.
        """
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._of_texts(column)
        if pa.types.is_null(kind) and self.reads_text:
            return self._of_texts(column.cast(pa.string()))
        zone = UTC if self.config.output_zone is None else zone_of(self.config.output_zone)
        millis = self._millis(column)
        return self._spelled(millis, offsets_at(millis, zone), zone)

    def unread(self, column: pa.Array) -> pa.BooleanArray:
        """Which rows hold a text that ``texts`` would refuse.

        Shapes: one entry a row, never null; all false for a column that is not of texts.
        """
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.dictionary_decode(), kind.value_type
        is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        if not (is_text and self.reads_text):
            return pa.repeat(pa.scalar(False), len(column))  # noqa: FBT003 - a value
        encoded = column.dictionary_encode()
        is_wrong = pa.array([not self._is_read(text) for text in encoded.dictionary.to_pylist()])
        return pc.fill_null(is_wrong.cast(pa.bool_()).take(encoded.indices), fill_value=False)

    def _is_read(self, text: str) -> bool:
        try:
            self._read(text)
        except RequestError:
            return False
        return True

    def _of_texts(self, column: pa.Array) -> pa.StringArray:
        if not self.reads_text:
            raise UnsupportedError(
                f"its values are texts, which do not go with timestamp type "
                f"{self.config.type.value}; take DATE_STRING or MIXED"
            )
        encoded = pc.fill_null(column.cast(pa.string()), self._text_for_null()).dictionary_encode()
        read = [self._read(text) for text in encoded.dictionary.to_pylist()]
        millis = np.array([moment for moment, _ in read], dtype=np.int64)
        zone = None
        if self.config.output_zone is not None:
            zone = zone_of(self.config.output_zone)
        elif self.config.input_zone is not None:
            zone = zone_of(self.config.input_zone)
        if zone is None:
            offsets = np.array([offset for _, offset in read], dtype=np.int64)
        else:
            offsets = offsets_at(millis, zone)
        return self._spelled(millis, offsets, zone).take(encoded.indices)

    def _text_for_null(self) -> str:
        stated = self.config.input_zone or self.config.output_zone
        zone = UTC if stated is None else zone_of(stated)
        offset = int(offsets_at(np.array([1], dtype=np.int64), zone)[0])
        return spell_date(parse_pattern(self.config.input_formats[0]), 1 + offset, offset, zone)

    def _read(self, text: str) -> tuple[int, int]:
        """The moment of a text in UTC, and the offset that the text names."""
        formats = self.config.input_formats
        try:
            found = read_date(text, formats, this_year=self.this_year)
        except RequestError as error:
            raise RequestError(f"the partition value {text!r} is no date: {error}") from error
        if found is None:
            raise RequestError(
                f"the partition value {text!r} has none of the formats {', '.join(formats)}; "
                "mend the rows or the input format"
            )
        offset = found.offset_millis
        if offset is None:
            stated = self.config.input_zone
            offset = offset_of_local(found.local_millis, UTC if stated is None else zone_of(stated))
            if offset is None:
                raise RequestError(
                    f"the partition value {text!r} is a time that the clocks of {stated} left out"
                )
        return found.local_millis - offset, offset

    def _millis(self, column: pa.Array) -> Longs:
        kind = column.type
        if pa.types.is_timestamp(kind) and kind.tz and self.consistent_logical_timestamp:
            longs = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
            millis = pc.divide(longs, pa.scalar(1000, pa.int64()))
            return _filled(millis, int(_in_millis(np.array([1]), self._unit(kind))[0]))
        return _in_millis(_filled(_longs(column), 1), self._unit(kind))

    def _unit(self, kind: pa.DataType) -> TimeUnit:
        if self.config.unit is None:
            raise UnsupportedError(
                f"its values are of type {kind}, and timestamp type {self.config.type.value} "
                "is for texts"
            )
        return self.config.unit

    def _spelled(self, millis: Longs, offsets: Longs, zone: str | None) -> pa.StringArray:
        """Format each distinct moment once, down to what the pattern shows."""
        parts = parse_pattern(self.config.output_format)
        step = resolution_millis(parts)
        ticks = (millis + offsets) // step
        if not shows_offset(parts):
            encoded = pa.array(ticks).dictionary_encode()
            texts = [spell_date(parts, t * step, 0, zone) for t in encoded.dictionary.to_pylist()]
            return pa.array(texts, pa.string()).take(encoded.indices)
        pairs, places = np.unique(np.stack([ticks, offsets]), axis=1, return_inverse=True)
        texts = [spell_date(parts, t * step, o, zone) for t, o in pairs.T.tolist()]
        return pa.array(texts, pa.string()).take(pa.array(places.reshape(-1)))


def _longs(column: pa.Array) -> pa.Int64Array:
    """The numbers of a column as Java's conversions to long give them."""
    kind = column.type
    if pa.types.is_floating(kind):
        return _truncated(column)
    if pa.types.is_decimal(kind):
        return pc.trunc(column).cast(pa.int64())
    if pa.types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    if pa.types.is_timestamp(kind):
        unit = "ms" if kind.unit in ("s", "ms") else "us"
        return column.cast(pa.timestamp(unit, kind.tz), safe=False).cast(pa.int64())
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return column.cast(pa.int64())
    raise UnsupportedError(f"its values are of type {kind}, which says no time")


def _truncated(column: pa.Array) -> pa.Int64Array:
    whole = np.nan_to_num(np.trunc(column.cast(pa.float64()).to_numpy(zero_copy_only=False)))
    is_high, is_low = whole >= 2.0**63, whole < -(2.0**63)
    longs = np.where(is_high | is_low, 0.0, whole).astype(np.int64)
    longs = np.where(is_high, _MOST, np.where(is_low, _LEAST, longs))
    return pa.array(longs, mask=flags_of(column.is_null()))


def _filled(column: pa.Int64Array, value: int) -> Longs:
    found: Longs = pc.fill_null(column, value).to_numpy(zero_copy_only=False)
    return found


def _in_millis(values: Longs, unit: TimeUnit) -> Longs:
    """Milliseconds of values in a unit, cut off where a long ends and towards zero.

    Source: java.util.concurrent.TimeUnit.convert.
    """
    divisor = _DIVISORS.get(unit)
    if divisor is not None:
        towards_zero: Longs = values // divisor + ((values < 0) & (values % divisor != 0))
        return towards_zero
    factor = _MULTIPLIERS[unit]
    within = np.clip(values, -(_MOST // factor), _MOST // factor) * factor
    return np.where(values == within // factor, within, np.where(values < 0, _LEAST, _MOST))
