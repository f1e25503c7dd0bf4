"""Errors: what a retry can do, what a job ends with, where they happened."""

from __future__ import annotations

import pickle

import pytest

from pyhudi.errors import (
    ConflictError,
    CorruptTableError,
    HudiError,
    InvariantError,
    OptionError,
    StorageError,
    located,
)


@pytest.mark.parametrize(
    ("kind", "code", "retryable"),
    [
        (OptionError, 2, False),
        (CorruptTableError, 2, False),
        (ConflictError, 3, True),
        (StorageError, 4, True),
        (InvariantError, 5, False),
    ],
)
def test_the_exit_code_says_whether_a_retry_can_help(
    kind: type[HudiError], code: int, retryable: bool
) -> None:
    error = kind("why")
    assert (error.exit_code, error.retryable) == (code, retryable)


def test_an_error_without_a_place_gets_that_of_the_innermost_door() -> None:
    with pytest.raises(CorruptTableError) as caught, located("/table"), located("/table/file"):
        raise CorruptTableError("it is cut short")
    assert caught.value.where == "/table/file"
    assert str(caught.value) == "it is cut short [/table/file]"


def test_an_error_that_knows_its_place_keeps_it() -> None:
    with pytest.raises(CorruptTableError, match=r"^cut short \[/a\]$"), located("/b"):
        raise CorruptTableError("cut short", where="/a")
    with pytest.raises(CorruptTableError, match=r"^/b is cut short$"), located("/b"):
        raise CorruptTableError("/b is cut short")


def test_an_error_that_is_none_of_ours_passes_as_it_is() -> None:
    with pytest.raises(KeyError), located("/table"):
        raise KeyError("x")


def test_an_error_keeps_its_place_on_its_way_between_processes() -> None:
    sent = CorruptTableError("it is cut short", where="/table")
    assert str(pickle.loads(pickle.dumps(sent))) == str(sent)
