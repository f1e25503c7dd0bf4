"""JSON to the byte as Jackson prints it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.actions.json_text import pretty

PRINTED = [
    ({}, "{ }"),
    ([], "[ ]"),
    ({"a": None, "b": True}, '{\n  "a" : null,\n  "b" : true\n}'),
    ([1, "x"], '[ 1, "x" ]'),
    ({"a": [{"b": 1}, {}]}, '{\n  "a" : [ {\n    "b" : 1\n  }, { } ]\n}'),
    ('tab\t"\\ é/😀', '"tab\\t\\"\\\\ é/😀"'),
    ("\x1f\x7f", '"\\u001F\x7f"'),
    ("\\u001f", '"\\\\u001f"'),
]


@pytest.mark.parametrize(("value", "text"), PRINTED)
def test_a_value_is_printed_as_jackson_prints_it(value: object, text: str) -> None:
    assert pretty(value) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_is_printed_reads_back(value: object) -> None:
    assert json.loads(pretty(value)) == value
