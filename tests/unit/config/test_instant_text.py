"""Instants as people, Airflow and Hudi write them."""

import time
from datetime import date, datetime, timezone

import pytest

from pyhudi.config.instant_text import normalise_instant, parse_exact_instant, parse_instant
from pyhudi.config.options.table import TimelineZone
from pyhudi.errors import OptionError

NAIVE = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - what a zoneless one means


@pytest.fixture
def _in_berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        pytest.param("20260102030405678", "20260102030405678", id="an instant"),
        pytest.param("20260102030405", "20260102030405", id="an old instant"),
        pytest.param("00000000000001", "00000000000001", id="that of a bootstrap"),
        pytest.param("2026-01-02", "20260102000000000", id="a date"),
        pytest.param("2026-01-02 03:04:05", "20260102030405999", id="as Hudi has it"),
        pytest.param(" 2026-01-02 03:04:05.678 ", "20260102030405678", id="to the millisecond"),
        pytest.param("2026-01-02 03:04", "20260102030400999", id="without seconds"),
        pytest.param("2026-01-02T03:04:05.6789", "20260102030405678", id="with a T"),
        pytest.param("20260102", "20260102000000000", id="ds_nodash"),
        pytest.param("20260102T030405", "20260102030405999", id="ts_nodash"),
        pytest.param(date(2026, 1, 2), "20260102000000000", id="a date object"),
        pytest.param(NAIVE, "20260102030405999", id="a datetime object"),
    ],
)
def test_a_time_without_a_zone_is_in_that_of_the_timeline(text: str | date, digits: str) -> None:
    assert normalise_instant(text) == normalise_instant(text, TimelineZone.UTC) == digits


@pytest.mark.usefixtures("_in_berlin")
@pytest.mark.parametrize(
    "given",
    [
        pytest.param("2026-11-22T18:52:00+00:00", id="ts"),
        pytest.param("2026-11-22 18:52:00+00:00", id="dag_run.run_after"),
        pytest.param("20261122T185200+0000", id="ts_nodash_with_tz"),
        pytest.param("2026-11-22T18:52Z", id="Z"),
        pytest.param("2026-11-22 18:52 UTC", id="UTC"),
        pytest.param("2026-11-22 13:52:00-05", id="another zone"),
        pytest.param(datetime(2026, 11, 22, 18, 52, tzinfo=timezone.utc), id="a datetime object"),
    ],
)
def test_a_time_with_a_zone_is_turned_into_that_of_the_timeline(given: str | date) -> None:
    assert normalise_instant(given, TimelineZone.UTC) == "20261122185200999"
    assert normalise_instant(given, TimelineZone.LOCAL) == "20261122195200999"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None",
        "yesterday",
        "1767323045",
        "2026-13-01",
        "2026-0102",
        "2026010203",
        "2026-01-02T",
        "2026-01-02 25:00",
        "2026-01-02+01:00",
        "2026-01-02T03:04:05+99:00",
        "0001-01-01T00:00:00+05:00",
        "scheduled__2026-01-02T03:04:05+00:00",
    ],
)
def test_what_is_no_instant_is_an_error_that_shows_the_forms(text: str) -> None:
    with pytest.raises(OptionError, match=r"is no instant; allowed: .*20260102030405678.*zone"):
        normalise_instant(text)


def test_one_instant_is_named_to_the_millisecond() -> None:
    named = parse_exact_instant("2026-01-02T03:04:05.678Z")
    assert named.on(TimelineZone.UTC) == "20260102030405678"
    assert parse_exact_instant("20260102030405").digits == "20260102030405"
    with pytest.raises(OptionError, match="'2026-01-02 03:04' names no single instant"):
        parse_exact_instant("2026-01-02 03:04")


def test_a_moment_is_told_whatever_the_zone_it_is_given_in() -> None:
    told = parse_instant("2026-01-02T03:04:05.678+02:00")
    assert told.moment_ms(TimelineZone.LOCAL) == told.moment_ms(TimelineZone.UTC) == 1767315845678
    in_utc = parse_instant("20260102010405678")
    assert in_utc.moment_ms(TimelineZone.UTC) == 1767315845678
    assert parse_instant("20260102010405").moment_ms(TimelineZone.UTC) == 1767315845000
    assert parse_instant("00000000000001").moment_ms(TimelineZone.UTC) == 0
