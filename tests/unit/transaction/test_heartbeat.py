"""Who is taken for alive."""

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from pyhudi.config.write import HeartbeatConfig
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.heartbeat import (
    HEARTBEATS,
    Heartbeat,
    delete_heartbeat,
    instants_with_heartbeat,
    is_alive,
    names_beside_heartbeats,
    start_heartbeat,
)
from tests.support.clocks import SilentClock
from tests.support.faulty import Fault, Faults, FaultyStorage, dead_pid, heartbeat_of
from tests.support.memory import MemoryStorage

INSTANT = "20260102030405678"
PATH = f".hoodie/.heartbeat/{INSTANT}"
CONFIG = HeartbeatConfig(interval_ms=1000, tolerable_misses=2)
NOW = 1_767_225_600_000


def alive(storage: MemoryStorage, after_ms: int) -> bool:
    return is_alive(storage, INSTANT, now_ms=NOW + after_ms, config=CONFIG)


def test_a_writer_that_signed_is_alive_until_it_missed_too_often():
    storage = MemoryStorage(now_ms=NOW)
    assert not alive(storage, 0)
    start_heartbeat(storage, INSTANT)
    storage.put(f"{HEARTBEATS}/.hidden", b"")
    assert instants_with_heartbeat(names_beside_heartbeats(storage)) == (INSTANT,)
    storage.delete(f"{HEARTBEATS}/.hidden")
    assert [alive(storage, after) for after in (0, 2000, 2001)] == [True, True, False]
    delete_heartbeat(storage, INSTANT)
    assert not alive(storage, 0)
    assert storage.files == {}


def test_an_instant_is_signed_by_one_writer():
    storage = MemoryStorage()
    assert start_heartbeat(storage, INSTANT)
    assert not start_heartbeat(storage, INSTANT)


@pytest.mark.parametrize(
    ("text", "is_taken_for_alive"),
    [
        pytest.param(heartbeat_of(dead_pid()), False, id="dead process of this host"),
        pytest.param(heartbeat_of(os.getpid()), True, id="living process of this host"),
        pytest.param(b"", True, id="Hudi's empty file"),
        pytest.param(b"\xff not json", True, id="other bytes"),
    ],
)
def test_a_fresh_heartbeat_counts_unless_its_process_is_known_to_be_gone(
    text: bytes, is_taken_for_alive: bool
):
    storage = MemoryStorage(now_ms=NOW)
    storage.put(PATH, text)
    assert alive(storage, 0) is is_taken_for_alive
    assert not alive(storage, 2001)


def test_a_writer_that_ends_while_it_is_looked_at_is_gone():
    storage = MemoryStorage(now_ms=NOW)
    start_heartbeat(storage, INSTANT)

    class Ending(FaultyStorage):
        def read(self, path: str) -> bytes:
            self.inner.delete(path)
            return super().read(path)

    assert not alive(Ending(storage, Faults()), 0)


def test_a_heartbeat_is_renewed_until_it_is_left():
    storage = MemoryStorage()
    start_heartbeat(storage, INSTANT)
    storage.put(PATH, b"old")
    with Heartbeat(storage, INSTANT, HeartbeatConfig(interval_ms=10), SystemClock()):
        deadline = time.monotonic() + 10
        while storage.read(PATH) == b"old" and time.monotonic() < deadline:
            time.sleep(0.005)
        assert storage.read(PATH) == heartbeat_of(os.getpid())
    assert storage.files == {}


def test_a_heartbeat_that_lapsed_once_has_lapsed_though_it_is_renewed():
    """Of a process that was suspended it is renewed before anything else is done."""
    storage, clock = MemoryStorage(now_ms=NOW), BeatingByHand(NOW)
    start_heartbeat(storage, INSTANT)
    with Heartbeat(storage, INSTANT, CONFIG, clock) as heartbeat:
        clock.advance(1999)
        clock.beat()
        assert (heartbeat.is_fresh, heartbeat.has_lapsed) == (True, False)
        clock.advance(2000)
        assert (heartbeat.is_fresh, heartbeat.has_lapsed) == (False, True)
        clock.beat()
        assert (heartbeat.is_fresh, heartbeat.has_lapsed) == (True, True)
        assert heartbeat.longest_silence_ms == 2000


class BeatingByHand(SilentClock):
    """A clock that repeats what it is to repeat when it is told to."""

    def repeating(
        self, act: Callable[[], None], every_s: float, name: str
    ) -> AbstractContextManager[None]:
        self.beat = act
        return super().repeating(act, every_s, name)


def test_a_heartbeat_that_cannot_be_renewed_or_deleted_stops_no_write():
    storage = FaultyStorage(MemoryStorage(), Faults(Fault.FULL_DISK, 1))
    with Heartbeat(storage, INSTANT, HeartbeatConfig(interval_ms=1), SystemClock()):
        deadline = time.monotonic() + 10
        while storage.faults.calls < 3 and time.monotonic() < deadline:
            time.sleep(0.002)
        storage.faults.kind, storage.faults.at = Fault.ERROR, storage.faults.calls + 1
    assert storage.faults.calls > 3
