"""Options: what their texts mean, and what is said of a text that means nothing."""

from datetime import date
from enum import Enum
from pathlib import Path

import pytest

from pyhudi.config import option
from pyhudi.config.option import Option, canonical_key, option_texts
from pyhudi.errors import OptionError


class Colour(Enum):
    RED = "red"
    BLUE = "BLUE"


SIZE = Option(key="h.size", aliases=("h.old",), parse=option.parse_size, default=7)


def test_the_key_goes_before_its_alias_and_the_alias_before_the_default() -> None:
    assert (SIZE.read({"h.size": "1", "h.old": "2"}), SIZE.read({"h.old": " 2 "})) == (1, 2)
    assert SIZE.read({}) == 7


def test_a_bad_value_is_named_with_the_key_as_given_and_what_is_allowed() -> None:
    with pytest.raises(OptionError, match=r"option h\.old is '10MB'; allowed: a number of bytes"):
        SIZE.read({"h.old": "10MB"})


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (option.parse_bool, "TRUE", True),
        (option.parse_bool, "false", False),
        (option.parse_int, "0", 0),
        (option.parse_fraction, "0.000000001", 1e-9),
        (option.parse_fields, "a, b,c.d", ("a", "b", "c.d")),
        (option.parse_fields, "", ()),
        (option.parse_optional_text, "", None),
        (option.parse_enum(Colour), "Blue", Colour.BLUE),
    ],
)
def test_texts_that_mean_something(parse, text, value) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text", "allowed"),
    [
        (option.parse_bool, "yes", "true or false"),
        (option.parse_int, "-1", "0 or greater"),
        (option.parse_int, "1.5", "0 or greater"),
        (option.parse_positive, "0", "greater than 0"),
        (option.parse_fraction, "nan", "a number"),
        (option.parse_fields, "a,,b", "single commas"),
        (option.parse_fields, "a,a", "each once"),
        (option.parse_text, "", "not empty"),
        (option.parse_enum(Colour), "green", "red, BLUE"),
    ],
)
def test_texts_that_mean_nothing_say_what_would(parse, text, allowed) -> None:
    with pytest.raises(ValueError, match=allowed):
        parse(text)


def test_an_old_spelling_has_the_key_it_means() -> None:
    expected = "hoodie.datasource.write.precombine.field"
    assert canonical_key("hoodie.table.precombine.field") == expected
    assert canonical_key("no.such.key") == "no.such.key"


def test_values_become_the_texts_that_options_have() -> None:
    given = {
        "flag": True,
        "size": 1 << 20,
        "share": 0.5,
        "name": "t",
        "keys": ["a", "b"],
        "day": date(2026, 1, 2),
        "folder": Path("/spill"),
        "unsaid": None,
    }
    assert option_texts(given) == {
        "flag": "true",
        "size": "1048576",
        "share": "0.5",
        "name": "t",
        "keys": "a,b",
        "day": "2026-01-02",
        "folder": "/spill",
    }
    assert option_texts(None) == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(["a=b"], "storage_options must be a mapping", id="a list"),
        pytest.param("a=b", "not a str", id="a text"),
        pytest.param({"a": {"b": 1}}, r"storage_options\['a'\] must be a text", id="nested"),
        pytest.param({1: "b"}, "the key 1", id="a key that is no text"),
    ],
)
def test_what_has_no_text_is_an_error_that_names_it(options: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        option_texts(options, name="storage_options")
