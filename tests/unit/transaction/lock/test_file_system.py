"""The lock that is a file: whose it is, how it is lost, and who takes it away."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.errors import LockError, LostLockError, StorageError, UnsupportedError
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.lock.file_system import FileSystemLock
from pyhudi.transaction.lock.lock_file import lock_text
from pyhudi.transaction.lock.opening import open_lock
from pyhudi.transaction.process import ProcessMark
from tests.support.clocks import FakeClock, SilentClock
from tests.support.faulty import Fault, Faults, FaultyStorage, Killed, dead_pid
from tests.support.memory import MemoryStorage

NOW = 1_767_225_600_000
LOCK = ".hoodie/lock"
MINUTE = 60_000


def config(**more: object) -> LockConfig:
    settings = {"wait_ms": 2000, "retries": 0, "retry_wait_ms": 100}
    return LockConfig(provider=LockProvider.FILE_SYSTEM, **(settings | more))


def lock_on(storage, clock=None, **more: object) -> FileSystemLock:
    return open_lock(storage, config(**more), clock or SilentClock(NOW))


class Aging(MemoryStorage):
    """A storage whose files get the time of a clock."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def put(self, path: str, data: bytes) -> None:
        self.now_ms = self._clock.now_ms()
        super().put(path, data)


def test_the_lock_is_a_file_that_says_who_holds_it_and_is_gone_afterwards() -> None:
    storage = MemoryStorage(now_ms=NOW)
    with lock_on(storage).hold() as held:
        (line,) = storage.files[LOCK].decode().splitlines()
        found = json.loads(line)
        assert found["lockCreateTime"] == "2026-01-01 00:00:00.000"
        assert found["lockThreadName"] == threading.current_thread().name
        assert found["lockStacksInfo"] == []
        assert (found["pid"], found["host"]) == (os.getpid(), ProcessMark.here().host)
        held.confirm()
    assert storage.files == {}


def test_who_does_not_get_it_in_time_is_told_who_has_it_since_when() -> None:
    storage, clock = MemoryStorage(now_ms=NOW), SilentClock(NOW)
    with lock_on(storage).hold() as held:
        with pytest.raises(LockError) as caught, lock_on(storage, clock).hold():
            pass
        said = f"process {os.getpid()} on {ProcessMark.here().host} holds {storage.absolute(LOCK)}"
        assert f"{said} since 2026-01-01 00:00:00 UTC; retry, or see pyhudi lock show" in str(
            caught.value
        )
        assert clock.monotonic_ms() == 2000
        held.confirm()


@pytest.mark.parametrize("text", [b"", b'{"lockCreateTime":"x"}', b"\xff{", b"[" * 100_000])
def test_a_file_of_hudis_is_a_lock_whatever_is_in_it(text: bytes) -> None:
    storage = MemoryStorage({LOCK: text}, now_ms=NOW)
    with pytest.raises(LockError, match="as Hudi's do not, holds"), lock_on(storage).hold():
        pass
    assert storage.files == {LOCK: text}


def test_a_lock_that_nobody_touched_for_too_long_is_anybodys() -> None:
    clock = SilentClock(NOW)
    storage = Aging(clock)
    storage.put(LOCK, b"")
    clock.advance(5 * MINUTE)
    with pytest.raises(LockError), lock_on(storage, expire_minutes=0).hold():
        pass
    with pytest.raises(LockError), lock_on(storage, expire_minutes=5).hold():
        pass
    clock.advance(1)
    with lock_on(storage, clock, expire_minutes=5).hold() as held:
        held.confirm()
        assert list(storage.files) == [LOCK]


def test_whoever_slept_past_its_time_is_told_by_whom_it_was_taken() -> None:
    clock = SilentClock(NOW)
    storage = Aging(clock)
    with ExitStack() as both:
        slow = both.enter_context(lock_on(storage, clock, expire_minutes=1).hold())
        clock.advance(2 * MINUTE)
        fast = both.enter_context(lock_on(storage, clock, expire_minutes=1).hold())
        fast.confirm()
        with pytest.raises(LostLockError, match=r"was taken: process .*lock\.filesystem\.expire"):
            slow.confirm()
        taken = storage.files[LOCK]
        both.pop_all().close()
    assert taken
    assert storage.files == {}


def test_a_lock_that_was_lost_is_not_given_back() -> None:
    storage = MemoryStorage(now_ms=NOW)
    theirs = lock_text("theirs", ProcessMark.here(), NOW)
    with lock_on(storage).hold() as held:
        storage.put(LOCK, theirs)
        with pytest.raises(LostLockError):
            held.confirm()
    assert storage.files == {LOCK: theirs}


def test_a_file_that_a_loser_of_hudis_deleted_is_noticed() -> None:
    storage = MemoryStorage(now_ms=NOW)
    with lock_on(storage).hold() as held:
        storage.delete(LOCK)
        with pytest.raises(LostLockError, match=r"gone while .*apache/hudi#10412"):
            held.confirm()


def test_confirming_gives_the_lock_its_whole_time_again() -> None:
    clock = SilentClock(NOW)
    storage = Aging(clock)
    with lock_on(storage, clock, expire_minutes=1).hold() as held:
        clock.advance(MINUTE)
        held.confirm()
        assert storage.status(LOCK).modified_ms == NOW + MINUTE


def test_a_lock_is_touched_while_it_is_held(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    clock = SilentClock(NOW)
    done: list[tuple[float, str]] = []
    clock.repeating = lambda act, every_s, name: (
        done.append((every_s, name)),
        act(),
        ExitStack(),
    )[2]
    past = NOW // 1000 - 3600
    storage.create(LOCK, b"")
    os.utime(tmp_path / LOCK, (past, past))
    with lock_on(storage, clock, expire_minutes=1).hold():
        assert time.time() - (tmp_path / LOCK).stat().st_mtime < 60
    assert done == [(20.0, "lock-renewal")]


def test_a_checksum_of_an_earlier_file_does_not_stay_beside_it(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    storage.create(".hoodie/.lock.crc", b"crc\0\0\0\2\0")
    with lock_on(storage).hold():
        assert os.listdir(tmp_path / ".hoodie") == ["lock"]
    assert os.listdir(tmp_path / ".hoodie") == []


def test_the_lock_of_a_process_that_died_here_is_taken_at_once() -> None:
    gone = ProcessMark.of(dead_pid())
    storage = MemoryStorage({LOCK: lock_text("theirs", gone, NOW)}, now_ms=NOW)
    clock = SilentClock(NOW)
    with lock_on(storage, clock).hold() as held:
        held.confirm()
    assert clock.monotonic_ms() == 0
    elsewhere = ProcessMark(host="other", boot=None, namespace=None, pid=gone.pid, started=None)
    storage = MemoryStorage({LOCK: lock_text("theirs", elsewhere, NOW)}, now_ms=NOW)
    with pytest.raises(LockError, match=f"process {gone.pid} on other"), lock_on(storage).hold():
        pass


def test_of_two_who_take_a_lock_away_the_slower_one_leaves_the_next_holders() -> None:
    """The slower one looked before the faster one took it, and deletes after it."""
    gone = ProcessMark.of(dead_pid())
    storage = MemoryStorage({LOCK: lock_text("theirs", gone, NOW)}, now_ms=NOW)
    slow, fast = lock_on(storage), lock_on(storage)
    stale = slow._read()
    with fast.hold() as held:
        assert not slow._delete_claimed(stale)
        held.confirm()
    assert storage.files == {}


def test_who_died_while_it_took_a_lock_away_is_passed_over() -> None:
    gone = ProcessMark.of(dead_pid())
    storage = MemoryStorage({LOCK: lock_text("theirs", gone, NOW)}, now_ms=NOW)
    lock = lock_on(storage)
    (claim,) = lock._claims("id")
    storage.put(claim, gone.to_bytes())
    second = lock._claims("id")
    assert len(second) == 2
    assert lock._claims("id") == ()
    later = SilentClock(NOW)
    later.advance(11 * MINUTE)
    assert len(lock_on(storage, later)._claims("id")) == 3


@pytest.mark.parametrize("kind", ["lost before", "lost after"])
def test_a_create_whose_answer_is_lost_leaves_no_lock_behind(kind: str) -> None:
    memory = MemoryStorage(now_ms=NOW)

    class Unclear(MemoryStorage):
        def create(self, path: str, data: bytes) -> None:
            if kind == "lost after":
                memory.create(path, data)
            raise StorageError("no answer")

    storage = Unclear()
    storage.files = memory.files
    with pytest.raises(StorageError, match="no answer"), lock_on(storage).hold():
        pass
    assert memory.files == {}


def test_a_request_that_was_sent_twice_took_the_lock() -> None:
    class Twice(MemoryStorage):
        def create(self, path: str, data: bytes) -> None:
            if path == LOCK:
                super().create(path, data)
            super().create(path, data)

    storage = Twice(now_ms=NOW)
    with lock_on(storage).hold() as held:
        held.confirm()
    assert storage.files == {}


@pytest.mark.parametrize("kind", [Fault.ERROR, Fault.LATE_ERROR, Fault.DEATH])
def test_whatever_call_fails_the_next_writer_gets_the_lock(kind: Fault) -> None:
    gone = ProcessMark.of(dead_pid())
    reached = 0
    for at in range(1, 40):
        storage = MemoryStorage({LOCK: lock_text("theirs", gone, NOW)}, now_ms=NOW)
        faults = Faults(kind=kind, at=at)
        try:
            with lock_on(FaultyStorage(storage, faults)).hold() as held:
                held.confirm()
        except (StorageError, Killed):
            pass
        reached += faults.calls >= at
        for path in storage.below(".hoodie"):
            # Who failed to give something back ends soon; who was killed has ended.
            mine = storage.files[path].replace(str(os.getpid()).encode(), str(gone.pid).encode())
            storage.files[path] = mine
        with lock_on(storage).hold() as held:
            held.confirm()
        # Of the claim to a lock that is gone a file of no meaning may stay.
        assert LOCK not in storage.files, at
        assert len(storage.files) <= 1, at
    assert reached > 10


def test_a_lock_may_lie_in_another_folder(tmp_path: Path) -> None:
    table = open_storage(str(tmp_path / "t"))
    with open_lock(table, config(folder=str(tmp_path / "locks")), SilentClock(NOW)).hold():
        assert os.listdir(tmp_path / "locks") == ["lock"]
    assert not (tmp_path / "t").exists()


def test_a_lock_file_on_an_object_store_is_refused_unless_it_is_said_to_be_safe() -> None:
    class Store(MemoryStorage):
        uri = "s3a://bucket/table"

    with pytest.raises(UnsupportedError, match="not for s3a: take StorageBasedLockProvider"):
        lock_on(Store())
    with lock_on(Store(), atomic_schemes=("s3a",)).hold() as held:
        held.confirm()


COUNT = """
import sys
from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from pyhudi.transaction.lock.opening import open_lock

storage = open_storage(sys.argv[1])
config = LockConfig(provider=LockProvider.FILE_SYSTEM, expire_minutes=1)
for _ in range(25):
    with open_lock(storage, config, SystemClock()).hold() as held:
        count = int(storage.read("count"))
        held.confirm()
        storage.put("count", str(count + 1).encode())
"""


def test_processes_that_count_under_the_lock_count_right(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    storage.create("count", b"0")
    # One that died before them.
    storage.create(LOCK, lock_text("x", ProcessMark.of(dead_pid()), SystemClock().now_ms()))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", COUNT, str(tmp_path)]
    workers = [subprocess.Popen(command, env=environment) for _ in range(4)]
    assert [worker.wait(120) for worker in workers] == [0] * 4
    assert storage.read("count") == b"100"
    assert os.listdir(tmp_path / ".hoodie") == []
