"""Every anomaly is reached by its schedule: kept out by its guard, and found without it."""

from dataclasses import replace

import pytest

from tests.simulator.anomalies import ANOMALIES, Anomaly
from tests.simulator.guards import GUARDS
from tests.simulator.play import Play, WrongTableError
from tests.support.points import IS_WHOLE
from tests.support.reliability import PAGE, section_of_histories

VERSIONS = (6, 8, 9) if IS_WHOLE else (6, 9)
CASES = [(version, each) for each in ANOMALIES for version in each.versions if version in VERSIONS]
BY_NAME = pytest.mark.parametrize(
    ("version", "anomaly"), CASES, ids=[f"{version}-{each.name}" for version, each in CASES]
)


@BY_NAME
def test_the_engine_keeps_it_out(version: int, anomaly: Anomaly) -> None:
    directed = anomaly.directed()
    play = Play(replace(anomaly.history, version=version), directed=directed)
    play.run()
    assert directed.was_followed, "nothing happened as it was written down"
    refused = {each.process.number for each in play.outcomes if each.error is not None}
    assert refused == set(anomaly.refused)


@BY_NAME
def test_it_is_found_without_its_guard(version: int, anomaly: Anomaly) -> None:
    directed = anomaly.directed()
    play = Play(replace(anomaly.history, version=version), directed=directed)
    with anomaly.guard.taken_out(), pytest.raises(WrongTableError):
        play.run()
    assert directed.was_followed, "nothing happened as it was written down"


def test_each_guard_has_an_anomaly_that_it_keeps_out() -> None:
    assert {each.guard.what for each in ANOMALIES} == {each.what for each in GUARDS}
    numbers = {each.name.partition(" ")[0] for each in ANOMALIES}
    assert numbers == {f"A{number}" for number in range(1, 18)}


def test_the_page_lists_them() -> None:
    assert section_of_histories() in PAGE.read_text(encoding="utf-8")
