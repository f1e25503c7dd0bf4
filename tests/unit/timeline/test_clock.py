"""Instant times: their zone, and that they only rise."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.table import TimelineZone
from pyhudi.timeline.clock import SystemClock, instant_time, new_file_id_prefix, next_instant_time
from tests.support.clocks import FakeClock

MOMENT_MS = 1767323045678  # 2026-01-02 03:04:05.678 UTC
UTC, LOCAL = TimelineZone.UTC, TimelineZone.LOCAL


def test_an_instant_time_has_17_digits_of_utc() -> None:
    assert instant_time(MOMENT_MS, UTC) == "20260102030405678"


def test_an_instant_time_of_a_local_timeline_is_that_of_the_machine(monkeypatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert instant_time(MOMENT_MS, LOCAL) == "20260102120405678"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (None, "20260102030405678"),
        ("20260102030405677", "20260102030405678"),
        ("20260102030405678", "20260102030405679"),
        ("20261231235959999", "20270101000000000"),
        ("20260102030406", "20260102030407000"),
        ("00000000000001", "20260102030405678"),
    ],
)
def test_the_next_instant_time_is_now_or_a_millisecond_after_the_last(after, expected) -> None:
    assert next_instant_time(FakeClock(MOMENT_MS), UTC, after) == expected


@given(st.lists(st.integers(-(10**7), 10**7), max_size=20))
def test_instant_times_rise_however_the_clock_jumps(jumps: list[int]) -> None:
    clock, last = FakeClock(MOMENT_MS), None
    for jump in jumps:
        clock.advance(jump)
        drawn = next_instant_time(clock, UTC, last)
        assert len(drawn) == 17
        assert last is None or drawn > last
        last = drawn


def test_a_fake_clock_goes_on_by_its_step() -> None:
    clock = FakeClock(0, step_ms=5)
    assert [clock.now_ms(), clock.now_ms()] == [5, 10]


def test_the_machines_clock_is_in_milliseconds() -> None:
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 60_000


def test_file_id_prefixes_are_uuids_and_differ() -> None:
    first, second = new_file_id_prefix(), new_file_id_prefix()
    assert first != second
    assert len(first) == 36
    assert "_" not in first
