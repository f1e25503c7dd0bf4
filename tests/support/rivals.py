"""Writers that go on beside each other, with what one does put between two calls of another."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from pyhudi.errors import LostLockError
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.write import write_rows
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock
from tests.support.faulty import Faults, FaultyStorage
from tests.support.in_process import Options, Rows, Surroundings, options_of, orders, outcome
from tests.support.local_rows import LocalRows

MODE = "hoodie.write.concurrency.mode"
PROVIDER = "hoodie.write.lock.provider"
RETRIES = "hoodie.write.num.retries.on.conflict.failures"
SEVERAL = {MODE: "OPTIMISTIC_CONCURRENCY_CONTROL", PROVIDER: "InProcessLockProvider"}
STAMP = {
    "hoodie.datasource.write.commitmeta.key.prefix": "airflow.",
    "airflow.dag_id": "loads",
    "airflow.task_id": "orders",
    "airflow.run_id": "daily",
}
"""What the commits of an Airflow task have, and what errors make of it."""
BY_TASK = "by loads.orders, run daily"
UNCLEANED = {"hoodie.clean.automatic": "false"}


def optimistic(table_type: str = "COPY_ON_WRITE", index: str = "SIMPLE", **more: str) -> Options:
    """Options of one who writes beside others; dots of names as two underscores."""
    return {**SEVERAL, **UNCLEANED, **options_of(table_type, index, **more)}


class Meanwhile(FaultyStorage):
    """Does something before the first call that creates a file whose path is asked for."""

    def __init__(
        self, inner: Storage, act: Callable[[], object], *, before: str, skips: int = 0
    ) -> None:
        super().__init__(inner, Faults())
        self._act, self._before, self._left = act, before, skips + 1

    def create(self, path: str, data: bytes) -> None:
        self._look(path)
        super().create(path, data)

    def put(self, path: str, data: bytes) -> None:
        self._look(path)
        super().put(path, data)

    def _look(self, path: str) -> None:
        if self._before in path:
            self._left -= 1
            if self._left == 0:
                self._act()


BEGUN = ".inflight"
"""A write has its snapshot, has looked keys up, and has written nothing."""
WRITTEN = ".marker."
"""It is about to write its first file."""


class LossyLock:
    """A lock that keeps nobody out; it is confirmed as often as not lost, and tells who asks."""

    def __init__(self, *, lost: int = 0, before_confirm: Callable[[], object] = int) -> None:
        self.lost, self.before_confirm = lost, before_confirm
        self.is_held = False
        self.holds = self.confirms = 0

    @contextmanager
    def hold(self) -> Iterator["LossyLock"]:
        assert not self.is_held, "a lock is not re-entrant"
        self.is_held, self.holds = True, self.holds + 1
        try:
            yield self
        finally:
            self.is_held = False

    def confirm(self) -> None:
        self.confirms += 1
        self.before_confirm()
        if self.confirms <= self.lost:
            raise LostLockError("another took it")


def write_under(
    lock: LossyLock, storage: Storage, rows: Rows, clock: Clock, options: Options
) -> JobResult:
    """A write whose lock is this one."""
    environment = replace(Surroundings(clock).environment(storage), open_lock=lambda *_: lock)
    source = LocalRows.of(environment.runner, orders(rows))
    return write_rows(environment, source, storage.uri, options)


def overlapping(
    storage: Storage,
    earlier: Callable[[Storage], object],
    later: Callable[[Storage], object],
    *,
    at: str,
) -> list[BaseException | None]:
    """Two jobs, of which the one with the earlier instant commits while the other is at work.

    The later one begins when the first is about to create a file with ``at`` in its path, and goes
    on from there when that one has ended; what each raised is given.
    """
    has_begun, is_at_work, has_ended = (threading.Event() for _ in range(3))
    raised: list[BaseException | None] = [None, None]

    def let_begin() -> None:
        has_begun.set()
        assert is_at_work.wait(30)

    def wait_for_the_other() -> None:
        is_at_work.set()
        assert has_ended.wait(30)

    def first() -> None:
        raised[0] = outcome(lambda: earlier(Meanwhile(storage, let_begin, before=at)))
        has_begun.set()
        has_ended.set()

    def second() -> None:
        assert has_begun.wait(30)
        raised[1] = outcome(lambda: later(Meanwhile(storage, wait_for_the_other, before=at)))
        is_at_work.set()

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised
