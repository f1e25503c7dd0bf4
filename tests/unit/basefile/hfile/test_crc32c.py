"""Checksums of chunks."""

import random

import pytest

from pyhudi.basefile.hfile.crc32c import crc32c


def bit_by_bit(data: bytes) -> int:
    register = 0xFFFFFFFF
    for octet in data:
        register ^= octet
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(bytes(32), 0x8A9136AA, id="zeros"),
        pytest.param(b"\xff" * 32, 0x62A8AB43, id="ones"),
        pytest.param(bytes(range(32)), 0x46DD794E, id="ascending"),
        pytest.param(bytes(range(31, -1, -1)), 0x113FDB5C, id="descending"),
        pytest.param(b"123456789", 0xE3069283, id="digits"),
    ],
)
def test_known_checksums_are_found(data: bytes, expected: int) -> None:
    assert crc32c(data, 16_384).tolist() == [expected]


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 60, 61, 64, 1000])
def test_every_chunk_has_its_own_checksum_whatever_its_length(chunk: int) -> None:
    for length in (1, 3, 4, 59, 60, 61, 128, 200):
        data = random.Random(length).randbytes(length)
        parts = [data[at : at + chunk] for at in range(0, length, chunk)]
        assert crc32c(memoryview(data), chunk).tolist() == [bit_by_bit(part) for part in parts]


def test_nothing_has_no_checksum() -> None:
    assert crc32c(b"", 16_384).tolist() == []
