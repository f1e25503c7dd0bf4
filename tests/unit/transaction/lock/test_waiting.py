"""How a lock is waited for."""

from collections import Counter

import pytest

from pyhudi.config.options.locks import LockConfig
from pyhudi.errors import LockError
from pyhudi.transaction.lock.waiting import wait_for
from tests.support.clocks import FakeClock

CONFIG = LockConfig(wait_ms=60_000, retries=50, retry_wait_ms=5000)


def waited(config: LockConfig, tries: int) -> tuple[FakeClock, Counter[str]]:
    """The clock and what was asked, of one who gets it at the last of so many tries."""
    clock, asked = FakeClock(0), Counter[str]()

    def attempt() -> bool | None:
        asked["attempt"] += 1
        return True if asked["attempt"] == tries else None

    def holder() -> str:
        asked["holder"] += 1
        return "somebody has it"

    assert wait_for(attempt, holder, config=config, clock=clock, where="/t")
    return clock, asked


def test_a_lock_that_is_free_costs_no_time() -> None:
    clock, asked = waited(CONFIG, 1)
    assert (clock.monotonic_ms(), asked) == (0, {"attempt": 1})


def test_one_that_is_held_for_a_moment_is_soon_asked_for_again() -> None:
    clock, _ = waited(CONFIG, 2)
    assert 25 <= clock.monotonic_ms() <= 75


def test_pauses_grow_to_a_second_and_are_never_in_step() -> None:
    spans = {waited(CONFIG, 30)[0].monotonic_ms() for _ in range(20)}
    assert len(spans) > 15
    assert all(12_000 < span < 40_000 for span in spans)


def test_whoever_waits_long_says_once_for_whom(caplog: pytest.LogCaptureFixture) -> None:
    _, asked = waited(CONFIG, 100)
    (record,) = caplog.records
    assert "waiting for the lock of the table, up to " in record.getMessage()
    assert asked["holder"] == 1


@pytest.mark.parametrize(
    ("config", "seconds"),
    [(CONFIG, 310), (LockConfig(wait_ms=10, retries=3, retry_wait_ms=0), 0.01)],
)
def test_all_tries_together_last_as_long_as_hudis(config: LockConfig, seconds: float) -> None:
    clock = FakeClock(0)
    said = f"was not free for {seconds:g} s: somebody has it; retry"
    with pytest.raises(LockError, match=said):
        wait_for(lambda: None, lambda: "somebody has it", config=config, clock=clock, where="/t")
    assert clock.monotonic_ms() == pytest.approx(seconds * 1000, abs=1)
