"""Delete records, both ways."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

from pyhudi.errors import CorruptTableError, UnsupportedError
from pyhudi.logfile.deletes import ARROW, Deletes, OrderingKind, decode_deletes, encode_deletes
from pyhudi.logfile.framing import BlockKind
from tests.support.golden import golden_names
from tests.support.log_files import deletes, golden_blocks

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


def test_values_of_several_columns_are_known_to_be_there() -> None:
    # One record, key "a", no partition, an array of the integer 1.
    content = bytes.fromhex("020202610018020204020000")
    found = decode(b"\x00\x00\x00\x03" + len(content).to_bytes(4, "big") + content)
    assert found.kinds.tolist() == [OrderingKind.ARRAY]
    with pytest.raises(UnsupportedError, match="several ordering columns"):
        encode_deletes(found)


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


def test_kinds_are_numbered_as_in_the_union() -> None:
    assert np.array_equal([kind.value for kind in OrderingKind], np.arange(13))
