"""Logical types over the plain values of Avro."""

import datetime
from decimal import Context, Decimal

import pyarrow as pa
import pytest

from pyhudi.errors import CorruptTableError
from pyhudi.logfile.avro.values import storage_type, with_logical_type

MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc)
DAYS = [datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)]
PRICES = [("a", Decimal("0.01")), ("b", None)]
NESTED = pa.struct(
    [
        pa.field("days", pa.list_(pa.field("element", pa.date32(), nullable=False))),
        pa.field("prices", pa.map_(pa.string(), pa.decimal128(9, 2))),
    ]
)


@pytest.mark.parametrize(
    ("kind", "plain", "meant"),
    [
        (pa.int32(), [1, None], [1, None]),
        (pa.date32(), [1, None], [datetime.date(1970, 1, 2), None]),
        (pa.timestamp("us", "UTC"), [int(MOMENT.timestamp()) * 10**6 + 6], [MOMENT]),
        (pa.timestamp("ms"), [86_400_000], [datetime.datetime(1970, 1, 2)]),  # noqa: DTZ001
        (
            pa.decimal128(38, 2),
            [b"\x04\xd2", b"\xff", None, b"", b"\x00" * 15 + b"\x01", b"\x80" + b"\x00" * 15],
            [
                Decimal("12.34"),
                Decimal("-0.01"),
                None,
                Decimal("0.00"),
                Decimal("0.01"),
                Decimal(-(2**127)).scaleb(-2, context=Context(prec=60)),
            ],
        ),
        (
            NESTED,
            [{"days": [0, 1], "prices": {"a": b"\x01", "b": None}}, None, {"days": None}],
            [{"days": DAYS, "prices": PRICES}, None, {"days": None, "prices": None}],
        ),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, pa.DataType) else "",
)
def test_plain_values_become_what_they_mean(kind: pa.DataType, plain: list, meant: list) -> None:
    found = with_logical_type(pa.array(plain, storage_type(kind)), kind)
    assert found.type == kind
    found.validate(full=kind != pa.decimal128(38, 2))
    assert found.to_pylist() == meant


def test_no_decimals_are_no_decimals() -> None:
    assert with_logical_type(pa.array([], pa.binary()), pa.decimal128(5, 1)).to_pylist() == []


def test_part_of_an_array_is_converted_alone() -> None:
    plain = pa.array([b"\x01", b"\x02", b"\x03"]).slice(1, 2)
    assert with_logical_type(plain, pa.decimal128(5, 0)).to_pylist() == [Decimal(2), Decimal(3)]


def test_a_decimal_of_too_many_bytes_is_refused() -> None:
    with pytest.raises(CorruptTableError, match="17 bytes"):
        with_logical_type(pa.array([b"\x00" * 17]), pa.decimal128(38, 0))
