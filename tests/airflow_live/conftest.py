"""The Airflow that the live tests share; DAGs have names of their own, so none meets another."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.airflow_live.browser import KEPT, Browser, is_ci, why_no_browser
from tests.airflow_live.browser import browser as chromium
from tests.airflow_live.server import LiveAirflow, running, why_not
from tests.interop import hudi_home
from tests.interop.hudi import RealHudi

DAGS = Path(__file__).parent / "dags"
EXAMPLES = Path(__file__).resolve().parents[2] / "dags"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.live)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the pictures of pages are."""
    pictures = len(list(KEPT.glob("*.png")))
    if pictures:
        terminalreporter.write_line(f"{pictures} pictures of pages are in {KEPT}")


@pytest.fixture(scope="session")
def airflow() -> Iterator[LiveAirflow]:
    """Airflow with the example DAGs and those of these tests."""
    missing = why_not()
    if missing and os.environ.get("CI") != "true":
        pytest.skip(missing)
    assert not missing, missing
    # Whoever ends the tests, as CI does after some minutes, ends what they have started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # Sensors that poke hold a worker each, which others are not to wait for.
    with running(LiveAirflow(dags=[EXAMPLES, DAGS], pools={"pokes": 3})) as started:
        yield started


@pytest.fixture(scope="session")
def browser(airflow: LiveAirflow) -> Iterator[Browser]:
    """A Chromium for pages of that Airflow."""
    missing = why_no_browser()
    if missing and not is_ci():
        pytest.skip(missing)
    assert not missing, missing
    with chromium(airflow) as started:
        yield started


@pytest.fixture(scope="session")
def hudi() -> Iterator[RealHudi | None]:
    """Real Hudi, of the newest release that others are compared with; None where it is not."""
    missing = hudi_home.missing()
    assert not (missing and os.environ.get("CI") == "true"), missing
    if missing:
        yield None
        return
    with RealHudi(hudi_home.BUNDLES[-1]) as process:
        yield process
