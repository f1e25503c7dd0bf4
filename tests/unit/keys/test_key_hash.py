from __future__ import annotations

import string

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import InvariantError
from pyhudi.keys import key_hash as module
from pyhudi.keys.key_hash import key_hash


def one(text: str) -> int:
    return int(key_hash(pa.array([text]))[0])


@settings(max_examples=60)
@given(st.lists(st.text(max_size=40), max_size=30), st.integers(0, 5), st.integers(0, 5))
def test_equal_strings_hash_equal_whatever_array_they_are_in(
    texts: list[str], skip: int, cut: int
) -> None:
    expected = [one(text) for text in texts]
    array = pa.array(["x" * skip] * skip + texts + ["tail"], pa.string())
    sliced = array.slice(skip, len(texts))
    chunked = pa.chunked_array([sliced.slice(0, cut), sliced.slice(cut)], pa.string())
    for keys in (sliced, chunked, sliced.cast(pa.large_string()), sliced.cast(pa.binary())):
        assert key_hash(keys).tolist() == expected


def test_hash_of_a_key_stays_the_same_between_releases() -> None:
    assert [hex(one(text)) for text in ("", "a", "id:1,sub:0")] == PINNED


def test_trailing_zeros_and_swapped_words_change_the_hash() -> None:
    texts = ["", "\0", "\0\0", "a", "a\0", "\0" * 8, "\0" * 9]
    texts += ["abcdefgh12345678", "12345678abcdefgh", "abcdefgh" * 2, "12345678" * 2]
    assert len(set(key_hash(pa.array(texts)).tolist())) == len(texts)


def test_keys_longer_than_a_slice_and_many_slices_hash_as_single_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [string.ascii_letters[:n] for n in range(50)] * 3
    expected = key_hash(pa.array(texts)).tolist()
    monkeypatch.setattr(module, "SLICE_ROWS", 7)
    monkeypatch.setattr(module, "SLICE_BYTES", 33)
    assert key_hash(pa.array(texts)).tolist() == expected


def test_dense_keys_spread_evenly_over_low_and_high_bits() -> None:
    hashes = key_hash(pa.array(np.arange(200_000)).cast(pa.string()))
    assert len(np.unique(hashes)) == 200_000
    for shift in range(0, 64, 8):
        counts = np.bincount((hashes >> np.uint64(shift)).astype(np.uint8), minlength=256)
        # 781 expected in each of 256 classes; chi-square of 255 degrees stays well below 400.
        assert ((counts - 781.25) ** 2 / 781.25).sum() < 400


def test_flipping_one_bit_of_a_key_flips_half_of_the_hash() -> None:
    base = bytearray(b"1234567,3-abcdefghi")
    flipped = []
    for bit in range(len(base) * 8):
        other = bytearray(base)
        other[bit // 8] ^= 1 << (bit % 8)
        flipped.append(bytes(other))
    hashes = key_hash(pa.array([bytes(base), *flipped]))
    changed = [int(h ^ hashes[0]).bit_count() for h in hashes[1:]]
    assert 30 < np.mean(changed) < 34
    assert min(changed) > 12


def test_null_keys_and_empty_arrays_have_a_hash_too() -> None:
    assert key_hash(pa.array([None, "a", None])).tolist() == [0, one("a"), 0]
    assert key_hash(pa.array([], pa.string())).tolist() == []
    assert key_hash(pa.chunked_array([], pa.string())).tolist() == []
    assert key_hash(pa.nulls(2, pa.string())).tolist() == [0, 0]


def test_keys_of_another_type_are_refused() -> None:
    with pytest.raises(InvariantError, match="int64"):
        key_hash(pa.array([1]))


PINNED = ["0xe220a8397b1dcdaf", "0x16352bb4eac1ff8a", "0xa0ac11f528cdbf3"]
