import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.basefile.key_range import KeyRange


def _java_order(text: str) -> bytes:
    return text.encode("utf-16-be")


@given(st.lists(st.text(), min_size=1), st.integers(0, 3))
def test_range_is_in_the_order_of_java_strings(keys, cut):
    found = KeyRange()
    found.add(pa.chunked_array([keys[:cut], keys[cut:]], pa.string()))
    assert found.min_key == min(keys, key=_java_order)
    assert found.max_key == max(keys, key=_java_order)


def test_emoji_sorts_before_private_characters_as_in_java():
    found = KeyRange()
    found.add(pa.array(["\ue000", "\U0001f600", "\uffee"]))
    assert (found.min_key, found.max_key) == ("\U0001f600", "\uffee")


def test_no_keys_have_no_range():
    found = KeyRange()
    found.add(pa.array([], pa.string()))
    assert (found.min_key, found.max_key) == (None, None)
