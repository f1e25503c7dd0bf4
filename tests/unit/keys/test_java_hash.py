"""Java's hash of strings, held against a plain loop over UTF-16 code units."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.keys.java_hash import SLICE_BYTES, java_string_hash

TEXTS = st.lists(st.one_of(st.none(), st.text(max_size=12)), max_size=20)


def plain_hash(text: str | None) -> int:
    units = memoryview((text or "").encode("utf-16-le")).cast("H")
    found = 0
    for unit in units:
        found = (31 * found + unit) % 2**32
    return found


@given(TEXTS, st.integers(0, 5))
def test_every_string_has_the_hash_that_java_gives_it(texts, skipped):
    array = pa.array(texts, pa.string()).slice(skipped)
    assert java_string_hash(array).tolist() == [plain_hash(text) for text in texts[skipped:]]


def test_hashes_that_java_is_known_to_give():
    known = {"hello": 99162322, "": 0, "Aa": 2112, "BB": 2112, "polygenelubricants": 2**31}
    assert java_string_hash(pa.array(list(known))).tolist() == list(known.values())


def test_texts_beyond_a_slice_and_in_chunks_are_hashed_alike():
    texts = ["x" * (SLICE_BYTES + 3), "ß" * SLICE_BYTES, "k", "\U0001f600" * 7]
    expected = [plain_hash(text) for text in texts]
    assert java_string_hash(pa.array(texts)).tolist() == expected
    assert java_string_hash(pa.chunked_array([texts[:1], texts[1:]])).tolist() == expected
