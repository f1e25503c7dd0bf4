"""What holds for all tests."""

import gc
import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.support.object_store import StoreServer

pytest_plugins = ("tests.support.servers.fixtures",)

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    """Leave modules and thousands of collected tests out of each later collection of garbage."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup() -> None:
    """Leave out what has not begun at PYHUDI_ENDS, in seconds since 1970, where that is set."""
    if (ends := os.environ.get("PYHUDI_ENDS")) and time.time() > float(ends):
        pytest.skip("not begun when the time of this run was over; without PYHUDI_ENDS all are run")


@pytest.fixture(scope="session")
def store_server() -> "StoreServer":
    """A server that speaks S3, started when the first test asks for it."""
    from tests.support.object_store import StoreServer

    server = StoreServer()
    server.start()
    return server


@pytest.fixture
def store(store_server: "StoreServer") -> Iterator["StoreServer"]:
    """The server, which answers as it should once the test has ended."""
    answer = store_server.answer
    yield store_server
    store_server.answer, store_server.ignores_conditions = answer, False
