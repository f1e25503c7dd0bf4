"""The lock of the threads of one process."""

import threading

import pytest

from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.errors import LockError, OptionError
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.lock.opening import open_lock
from tests.support.clocks import FakeClock
from tests.support.memory import MemoryStorage

CONFIG = LockConfig(provider=LockProvider.IN_PROCESS, wait_ms=2000, retries=0)


class Elsewhere(MemoryStorage):
    """Another table."""

    uri = "/memory/other"


def test_threads_that_count_under_the_lock_count_right() -> None:
    count = 0

    def write() -> None:
        nonlocal count
        for _ in range(50):
            with open_lock(MemoryStorage(), CONFIG, SystemClock()).hold() as held:
                seen = count
                held.confirm()
                count = seen + 1

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == 200


def test_who_does_not_get_it_is_told_which_thread_has_it() -> None:
    clock = FakeClock(0)
    with open_lock(MemoryStorage(), CONFIG, clock).hold():
        said = f"thread {threading.current_thread().name} holds it"
        second = open_lock(MemoryStorage(), CONFIG, clock)
        with pytest.raises(LockError, match=said), second.hold():
            pass
        assert clock.monotonic_ms() == 2000
        with open_lock(Elsewhere(), CONFIG, clock).hold() as held:
            held.confirm()
    with open_lock(MemoryStorage(), CONFIG, clock).hold() as held:
        held.confirm()


def test_whoever_takes_it_is_told_whom_it_does_not_keep_out(caplog) -> None:
    open_lock(MemoryStorage(), CONFIG, FakeClock(0))
    assert "keeps out threads of this process and nobody else" in caplog.text


def test_without_a_provider_there_is_no_lock() -> None:
    with pytest.raises(OptionError, match=r"hoodie\.write\.lock\.provider names no lock"):
        open_lock(MemoryStorage(), LockConfig(), FakeClock(0))
