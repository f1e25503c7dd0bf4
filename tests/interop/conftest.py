"""Real Hudi and our session; the tests skip, or fail under CI, when there is no Hudi."""

import os
from collections.abc import Iterator
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.interop import hudi_home
from tests.interop.hudi import RealHudi
from tests.interop.known_differences import KNOWN_DIFFERENCES
from tests.support.spark import shared_session

# Begun late, it would go on alone after all others.
LONGEST = "test_the_spark_tests_pass_on_spark_3_5"


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        if "tests/interop" not in item.path.as_posix():
            continue
        item.add_marker(pytest.mark.interop)
        if reason := KNOWN_DIFFERENCES.get(item.name):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if order := os.environ.get("PYHUDI_ORDER"):
        _shuffle_modules(items, order)
    yield
    items.sort(key=lambda item: item.name != LONGEST)


def _shuffle_modules(items: list[pytest.Item], order: str) -> None:
    """A run that may end before its last tests ends before other ones each time."""
    modules = sorted({item.path for item in items})
    Random(order).shuffle(modules)
    items.sort(key=lambda item: modules.index(item.path))


@pytest.fixture(scope="session")
def hudi_home_ready() -> None:
    """Ends the test unless Java, pyspark 3.5 and the bundles are there."""
    reason = hudi_home.missing()
    if reason and os.environ.get("CI") == "true":
        pytest.fail(f"interop tests may not skip when CI=true: {reason}", pytrace=False)
    if reason:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def spark(hudi_home_ready: None) -> SparkSession:
    """Our own session, on the Spark that the project pins."""
    return shared_session()


@pytest.fixture(scope="session", params=hudi_home.BUNDLES)
def hudi(request: pytest.FixtureRequest, hudi_home_ready: None) -> Iterator[RealHudi]:
    """Real Hudi of each version in turn: pytest runs all tests of one before it starts the next."""
    with RealHudi(request.param) as process:
        yield process


@pytest.fixture(scope="session", params=hudi_home.LATER)
def later(request: pytest.FixtureRequest, hudi_home_ready: None) -> Iterator[RealHudi]:
    """Real Hudi whose own table version is 8, and then 9."""
    with RealHudi(request.param) as process:
        yield process
