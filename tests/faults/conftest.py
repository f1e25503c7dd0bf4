"""What the tests of failures need of Python itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pyhudi.transaction import exclusion


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads take turns by call; a pause between two calls only makes the tests slow."""
    monkeypatch.setattr(exclusion.time, "sleep", lambda _: None)


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """Arrow tells of files that could not be closed, in Python, whenever they are collected.

    In the midst of a compilation that would break it (CPython 3.11).
    """
    yield
    gc.collect()
