"""The wire form of protocol buffers, as far as the ends of ORC files and HFiles need it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyhudi.errors import CorruptTableError

_VARINT: Final = 0
_FIXED_64: Final = 1
_BYTES: Final = 2
_FIXED_32: Final = 5
_FIXED_SIZES: Final = {_FIXED_64: 8, _FIXED_32: 4}
_MORE: Final = 0x80
_LONGEST_VARINT: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a message.

    Shapes: ``number`` says which; ``value`` is the number of a varint, ``data`` the bytes of
        anything else; ``raw`` is the whole field as it lies in the message.
    """

    number: int
    value: int
    data: bytes
    raw: bytes


def fields_of(message: bytes) -> Iterator[Field]:
    """The fields of a message, in their order.

    Raises:
        CorruptTableError: the bytes are no message.
    Source: Protocol Buffers documentation, Encoding.
    """
    position = 0
    while position < len(message):
        start = position
        tag, position = _read_varint(message, position)
        kind, value, size = tag & 7, 0, 0
        if kind == _VARINT:
            value, position = _read_varint(message, position)
        elif kind == _BYTES:
            size, position = _read_varint(message, position)
        elif kind in _FIXED_SIZES:
            size = _FIXED_SIZES[kind]
        else:
            raise CorruptTableError(f"a protocol buffer has a field of the unknown kind {kind}")
        end = position + size
        if end > len(message):
            raise CorruptTableError("a protocol buffer ends within a field")
        yield Field(
            number=tag >> 3, value=value, data=message[position:end], raw=message[start:end]
        )
        position = end


def delimited(data: bytes) -> bytes:
    """The message that follows its own length at the beginning of some bytes.

    Raises:
        CorruptTableError: the bytes end before the message does.
    """
    length, position = _read_varint(data, 0)
    if length > len(data) - position:
        raise CorruptTableError("a protocol buffer is longer than the bytes that hold it")
    return data[position : position + length]


def delimit(message: bytes) -> bytes:
    """A message behind its own length."""
    return _varint(len(message)) + message


def varint_field(number: int, value: int) -> bytes:
    """A field that holds a whole number, 0 or greater."""
    return _varint(number << 3 | _VARINT) + _varint(value)


def bytes_field(number: int, data: bytes) -> bytes:
    """A field that holds bytes, a text or another message."""
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _read_varint(message: bytes, position: int) -> tuple[int, int]:
    value = 0
    for count, byte in enumerate(message[position : position + _LONGEST_VARINT]):
        value |= (byte & ~_MORE) << (7 * count)
        if byte < _MORE:
            return value, position + count + 1
    raise CorruptTableError("a protocol buffer ends within a number")


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value >= _MORE:
        parts.append(value & ~_MORE & 0xFF | _MORE)
        value >>= 7
    parts.append(value)
    return bytes(parts)
