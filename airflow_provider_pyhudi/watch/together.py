"""One watch for all who wait for a table in one event loop, however many they are."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

from airflow_provider_pyhudi.watch.table import Look, Question, TableWatch
from pyhudi.errors import HudiError, InvariantError

PATIENCE = 3
"""Looks in a row that may fail by what another look can mend, before those who wait are told."""

_SOON_S = 0.002
"""Added to a wait, so that the interval is over when it ends."""

log = logging.getLogger(__name__)


class _Waiter:
    """One who waits, and the last thing that it has to be told."""

    def __init__(self, question: Question, interval_s: float) -> None:
        self.question = question
        self.interval_s = interval_s
        self._last: Look | Exception | None = None
        self._is_told = asyncio.Event()

    def tell(self, answer: Look | Exception) -> None:
        if answer != self._last:
            self._last = answer
            self._is_told.set()

    async def next(self) -> Look:
        await self._is_told.wait()
        self._is_told.clear()
        if isinstance(self._last, Exception):
            raise self._last
        if self._last is None:
            raise InvariantError("one who waits was woken without an answer")
        return self._last


class _Shared:
    """The looks at one table, made as often as the most impatient of those who wait wants."""

    def __init__(self, watch: Callable[[], TableWatch]) -> None:
        self._make = watch
        self._watch: TableWatch | None = None
        self._waiters: dict[int, _Waiter] = {}
        self._joined = asyncio.Event()
        self._listed_at = 0.0
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def is_empty(self) -> bool:
        return not self._waiters

    def join(self, waiter: _Waiter) -> None:
        self._waiters[id(waiter)] = waiter
        self._joined.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._ended)

    def leave(self, waiter: _Waiter) -> None:
        self._waiters.pop(id(waiter), None)
        if self.is_empty and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._pass()
            # At most one listing an interval, and an answer at once for who comes in between.
            interval = min((each.interval_s for each in self._waiters.values()), default=1.0)
            left = self._listed_at + interval - time.monotonic()
            try:
                await asyncio.wait_for(self._joined.wait(), timeout=max(left, 0) + _SOON_S)
            except TimeoutError:
                continue

    async def _pass(self) -> None:
        self._joined.clear()
        waiters = list(self._waiters.values())
        age = time.monotonic() - self._listed_at
        anew = self._watch is None or any(age >= each.interval_s for each in waiters)
        questions = {each.question for each in waiters}
        try:
            # Listing a folder blocks, and the triggerer runs many triggers in one loop.
            answers = await asyncio.to_thread(self._look, questions, anew=anew)
        except HudiError as error:
            self._listed_at = time.monotonic()
            self._fail(error)
            return
        if anew:
            self._listed_at = time.monotonic()
        self._failures = 0
        for each in waiters:
            each.tell(answers[each.question])

    def _look(self, questions: set[Question], *, anew: bool) -> dict[Question, Any]:
        if self._watch is None:
            self._watch = self._make()
        return dict(self._watch.look(questions, anew=anew))

    def _fail(self, error: HudiError) -> None:
        # Keys may have been changed meanwhile: the connection is read again.
        self._watch = None
        self._failures += 1
        if error.retryable and self._failures < PATIENCE:
            log.warning("A look at a table failed, and is tried again: %s", error)
            return
        self._failures = 0
        for each in list(self._waiters.values()):
            each.tell(error)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Tell those who wait what ended the looks: a connection that is wrong, for one."""
        if self._task is task:
            self._task = self._watch = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            for each in list(self._waiters.values()):
                each.tell(error)


_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, _Shared]] = WeakKeyDictionary()


async def looks(
    key: Hashable, watch: Callable[[], TableWatch], question: Question, interval_s: float
) -> AsyncIterator[Look]:
    """The answer to a question, and again each time another look answers otherwise.

    Those with one ``key`` share one watch, which is made in a thread: it lists the table as often
    as the shortest ``interval_s`` among them says, whatever their number. While the timeline stays
    as it is nobody is woken.

    Raises:
        HudiError: the table cannot be looked at, several times in a row where another look might
            have mended it. What the making of the watch raises is raised here too.
    """
    tables = _LOOPS.setdefault(asyncio.get_running_loop(), {})
    shared = tables.setdefault(key, _Shared(watch))
    waiter = _Waiter(question, interval_s)
    shared.join(waiter)
    try:
        while True:
            yield await waiter.next()
    finally:
        shared.leave(waiter)
        if shared.is_empty and tables.get(key) is shared:
            del tables[key]
