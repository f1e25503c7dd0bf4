"""Delete records, both ways."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.logfile.deletes.blocks import (
    ARROW,
    Deletes,
    OrderingKind,
    decode_deletes,
    encode_deletes,
)
from pyhudi.logfile.framing import BlockKind
from tests.support.golden import golden_names
from tests.support.log_files import array_deletes, deletes, golden_blocks

# What HoodieDeleteBlock of Hudi 1.1 makes of six records.
OF_HUDI = bytes.fromhex(
    "00000003000000480c02046b31020270040e02046b32020270060e02046b330202700e027a02046b34020270120e"
    "05543df729c00002046b350202701680897a02046b360200 0a000000000000f83f00"
)
VALUES = {
    OrderingKind.BOOLEAN: True,
    OrderingKind.INT: -1,
    OrderingKind.LONG: 2**62,
    OrderingKind.FLOAT: 0.5,
    OrderingKind.DOUBLE: -0.1,
    OrderingKind.BYTES: b"\x00\xff",
    OrderingKind.STRING: "é",
    OrderingKind.DATE: datetime.date(1969, 12, 31),
    OrderingKind.DECIMAL: Decimal("-12345.678900000000000"),
    OrderingKind.TIME_MICROS: 7,
    OrderingKind.TIMESTAMP_MICROS: datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
}


def decode(content: bytes) -> Deletes:
    return decode_deletes(content, where="the block")


def test_records_of_hudi_are_read() -> None:
    found = decode(OF_HUDI)
    assert found.keys.to_pylist() == ["k1", "k2", "k3", "k4", "k5", "k6"]
    assert found.partitions.to_pylist() == ["p"] * 5 + [""]
    assert found.kinds.tolist() == [2, 3, 7, 9, 11, 5]
    assert found.orderings[OrderingKind.LONG].to_pylist() == [None, 7, None, None, None, None]
    assert found.orderings[OrderingKind.DECIMAL][3].as_py() == Decimal("1.5")
    moment = found.orderings[OrderingKind.TIMESTAMP_MICROS][4].as_py()
    assert moment == datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)


def test_records_of_hudi_are_written_to_the_same_bytes() -> None:
    assert encode_deletes(decode(OF_HUDI)) == OF_HUDI


@pytest.mark.parametrize("name", golden_names("v6_mor_"))
def test_delete_blocks_of_hudi_are_written_to_the_same_bytes(name: str) -> None:
    for _, content in golden_blocks(name, BlockKind.DELETE):
        assert encode_deletes(decode(content)) == content


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_of_each_kind_comes_back(kind: OrderingKind) -> None:
    made = deletes(("a", kind, VALUES[kind]), ("b", OrderingKind.NONE, None))
    found = decode(encode_deletes(made))
    assert found.kinds.tolist() == [kind, 0]
    assert found.orderings[kind].type == ARROW[kind]
    assert found.orderings[kind].to_pylist() == [VALUES[kind], None]


@pytest.mark.parametrize("value", [0, 127, 128, -128, -129, 255, 256, 10**29])
def test_decimals_take_as_few_bytes_as_in_java(value: int) -> None:
    exact = Decimal(value).scaleb(-15)
    content = encode_deletes(deletes(("a", OrderingKind.DECIMAL, exact)))
    length = content[8 + 1 + 1 + 2 + 1 + 2 + 1] // 2
    assert length == (value.bit_length() if value >= 0 else (~value).bit_length()) // 8 + 1
    assert decode(content).orderings[OrderingKind.DECIMAL][0].as_py() == exact


def test_a_block_of_no_records_is_read() -> None:
    assert len(decode(bytes.fromhex("000000030000000100"))) == 0
    assert encode_deletes(deletes()) == bytes.fromhex("000000030000000100")


def test_values_of_several_columns_are_read_and_written_to_the_same_bytes() -> None:
    # Key "a", no partition, an array of the integer 1 and the day 20 of 1970, as a LocalDate.
    content = bytes.fromhex("02020261001802040402182800" + "00")
    block = b"\x00\x00\x00\x03" + len(content).to_bytes(4, "big") + content
    found = decode(block)
    assert found.kinds.tolist() == [OrderingKind.ARRAY]
    first, second = found.several
    assert first.values[OrderingKind.INT].to_pylist() == [1]
    assert second.values[OrderingKind.LOCAL_DATE].to_pylist() == [datetime.date(1970, 1, 21)]
    assert encode_deletes(found) == block


@pytest.mark.parametrize("kind", [*VALUES, OrderingKind.LOCAL_DATE])
def test_a_value_of_each_kind_comes_back_among_several(kind: OrderingKind) -> None:
    value = VALUES.get(kind, datetime.date(2026, 1, 2))
    made = array_deletes(
        ("a", [(kind, value), (OrderingKind.LONG, 1)]), ("b", [None, (OrderingKind.LONG, 2)])
    )
    first, second = decode(encode_deletes(made)).several
    assert first.kinds.tolist() == [kind, OrderingKind.NONE]
    assert first.values[kind].to_pylist() == [value, None]
    assert second.values[OrderingKind.LONG].to_pylist() == [1, 2]


@pytest.mark.parametrize("version", [1, 2])
def test_serialised_java_is_refused(version: int) -> None:
    with pytest.raises(UnsupportedError, match=f"the block keeps.*Kryo.*version {version}"):
        decode(version.to_bytes(4, "big") + OF_HUDI[4:])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\x00\x00\x07" + OF_HUDI[4:], id="version"),
        pytest.param(OF_HUDI[:-1], id="cut"),
        pytest.param(OF_HUDI[:8] + b"\xff" * 72, id="nonsense"),
        pytest.param(OF_HUDI[:8] + b"\x00" + OF_HUDI[9:], id="left_over"),
    ],
)
def test_damaged_contents_are_told(content: bytes) -> None:
    with pytest.raises(CorruptTableError, match="the block"):
        decode(content)


def test_kinds_are_numbered_as_in_the_union_and_dates_of_arrays_after_them() -> None:
    assert np.array_equal([kind.value for kind in OrderingKind], np.arange(14))
