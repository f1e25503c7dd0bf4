"""The tests of writers beside each other on tables of versions 8 and 9.

Of each test one set of parameters is tried by turns, and all with PYHUDI_POINTS=all.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from types import ModuleType
from typing import Any

import pytest

from pyhudi.config.versions import TableVersion
from tests.faults import (
    test_conflict_costs,
    test_optimistic_protocol,
    test_optimistic_restores,
    test_optimistic_writers,
)
from tests.support import orders
from tests.support.points import IS_WHOLE

MODULES: tuple[ModuleType, ...] = (
    test_optimistic_protocol,
    test_optimistic_writers,
    test_conflict_costs,
    test_optimistic_restores,
)
VERSION = "hoodie.write.table.version"
OF_SIX = {
    # With this skew a commit waits for an hour, and the heartbeat is by the machine's clock.
    "test_a_timeline_that_is_ahead_of_the_clock_is_noticed",
}


@dataclass(frozen=True)
class Call:
    """A test with one set of its parameters."""

    module: ModuleType
    test: Callable[..., None]
    given: dict[str, Any]

    @property
    def name(self) -> str:
        values = "-".join(str(value)[:20] for value in self.given.values())
        return f"{self.test.__name__.removeprefix('test_')}[{values}]"


def calls_of(module: ModuleType) -> Iterator[list[Call]]:
    """All calls of each test of a module."""
    for name, test in vars(module).items():
        is_own = inspect.isfunction(test) and test.__module__ == module.__name__
        if not (name.startswith("test_") and is_own) or name in OF_SIX:
            continue
        marks = [each for each in getattr(test, "pytestmark", ()) if each.name == "parametrize"]
        sets = [[_named(mark.args[0], values) for values in mark.args[1]] for mark in marks]
        yield [
            Call(module, test, {key: value for one in chosen for key, value in one.items()})
            for chosen in product(*sets)
        ]


def _named(names: str | tuple[str, ...], values: Any) -> dict[str, Any]:
    names = tuple(names.split(",")) if isinstance(names, str) else names
    values = getattr(values, "values", values)
    values = values if isinstance(values, tuple) and len(names) == len(values) else (values,)
    return dict(zip((name.strip() for name in names), values, strict=True))


def chosen() -> list[tuple[str, Call]]:
    tests = [calls for module in MODULES for calls in calls_of(module)]
    if IS_WHOLE:
        return [(version, call) for calls in tests for call in calls for version in "89"]
    # Every other one is of version 8, and another of its parameters.
    return [
        ("98"[number % 2], calls[(number * 5 + len(calls) - 1) % len(calls)])
        for number, calls in enumerate(tests)
    ]


@pytest.mark.parametrize(
    ("version", "call"), chosen(), ids=lambda each: each if isinstance(each, str) else each.name
)
def test_writers_beside_each_other_do_so_in_later_versions(
    version: str,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setitem(orders.OPTIONS, VERSION, version)
    for name in ("CONFIG", "MERGE_ON_READ"):
        config = replace(getattr(call.module, name), version=TableVersion(int(version)))
        monkeypatch.setattr(call.module, name, config)
    fixtures = {"caplog": caplog, "monkeypatch": monkeypatch}
    asked = inspect.signature(call.test).parameters
    call.test(**call.given, **{name: each for name, each in fixtures.items() if name in asked})
