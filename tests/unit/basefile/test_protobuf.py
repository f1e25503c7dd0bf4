import pytest

from pyhudi.basefile.protobuf import bytes_field, delimited, fields_of, varint_field
from pyhudi.errors import CorruptTableError


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**64 - 1])
def test_numbers_come_back(value: int) -> None:
    (field,) = fields_of(varint_field(8000, value))
    assert (field.number, field.value) == (8000, value)


def test_fields_come_in_their_order_with_their_bytes() -> None:
    fixed = b"\x1d\x01\x02\x03\x04"
    message = bytes_field(2, b"abc") + varint_field(1, 150) + fixed + bytes_field(2, b"")
    found = list(fields_of(message))
    assert [field.number for field in found] == [2, 1, 3, 2]
    assert (found[0].data, found[1].raw) == (b"abc", b"\x08\x96\x01")
    assert found[2].data == b"\x01\x02\x03\x04"
    assert b"".join(field.raw for field in found) == message


@pytest.mark.parametrize("message", [b"\x08", b"\x08\x96", b"\x12\x05abc", b"\x0b", b"\xff" * 11])
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(CorruptTableError, match="a protocol buffer"):
        list(fields_of(message))


def test_a_message_behind_its_length_is_found() -> None:
    assert delimited(b"\x03abcdef") == b"abc"
    assert delimited(b"\x80\x01" + b"x" * 130) == b"x" * 128
    assert delimited(b"\x00") == b""


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x03ab"])
def test_a_message_that_its_length_contradicts_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptTableError, match="a protocol buffer"):
        delimited(data)
