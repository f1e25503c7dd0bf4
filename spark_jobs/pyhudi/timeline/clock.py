"""What time it is, and the next instant time. The only place of clocks and random ids."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta, timezone
from typing import Protocol

from pyhudi.config.table import TimelineZone

_FORMAT = "%Y%m%d%H%M%S"
_DIGITS = 17
_MOST_WAIT_MS = 1000
# CLOCK_MONOTONIC of Linux stands still while a machine is suspended, and leases end meanwhile.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Tells the time, and lets it pass.

    ``now_ms`` is what machines have set, and may jump; spans are measured by ``monotonic_ms``.
    """

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds since some moment, which never goes back; it goes on while nobody runs."""
        ...

    def sleep(self, seconds: float) -> None:
        """Come back after this time."""
        ...

    def repeating(
        self, act: Callable[[], None], every_s: float, name: str
    ) -> AbstractContextManager[None]:
        """A span in which something is done at each interval, beside what goes on in it.

        It is not done at once, and no more when the span has been left.
        """
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        return int(datetime.now(timezone.utc).timestamp() * 1000)

    def monotonic_ms(self) -> int:
        """Milliseconds since the machine started, suspended or not where the system counts so."""
        return time.clock_gettime_ns(_SINCE_BOOT) // 1_000_000

    def sleep(self, seconds: float) -> None:
        """Come back after this time."""
        time.sleep(seconds)

    @contextmanager
    def repeating(self, act: Callable[[], None], every_s: float, name: str) -> Iterator[None]:
        """A span with a thread of this name beside it."""
        ended = threading.Event()

        def repeat() -> None:
            while not ended.wait(every_s):
                act()

        thread = threading.Thread(target=repeat, name=name, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def instant_time(milliseconds: int, zone: TimelineZone) -> str:
    """A moment as an instant time.

    Units: milliseconds since 1970 in UTC.
    """
    moment = datetime.fromtimestamp(milliseconds // 1000, timezone.utc)
    local = moment if zone is TimelineZone.UTC else moment.astimezone()
    return f"{local.strftime(_FORMAT)}{milliseconds % 1000:03d}"


def next_instant_time(clock: Clock, zone: TimelineZone, after: str | None) -> str:
    """The instant time of now, or a millisecond after ``after`` where the clock is not beyond it.

    Clocks of writers differ and local time goes back an hour in autumn, but instants only rise.

    Guarantees: greater than ``after`` as a text.
    Source: HoodieInstantTimeGenerator.createNewInstantTime, Hudi 0.15.
    """
    now = instant_time(clock.now_ms(), zone)
    if after is None or now > after:
        return now
    return _millisecond_after(after)


def wait_until_after(clock: Clock, time: str, zone: TimelineZone, skew_ms: int = 0) -> None:
    """Let a moment pass until the clock is beyond an instant time, and those of others are too.

    Units: ``skew_ms`` in milliseconds.
    Not: for longer than a second more, where the timeline is ahead of the clock.
    Source: SkewAdjustingTimeGenerator, Hudi 1.0 to 1.2, which sleeps for the skew after each draw.
    """
    if skew_ms:
        clock.sleep(skew_ms / 1000)
    for _ in range(_MOST_WAIT_MS):
        if instant_time(clock.now_ms() - skew_ms, zone) > time:
            return
        clock.sleep(0.001)


def day_before(time: str) -> str:
    """The instant time a day earlier; that of digits which are no time is before all others."""
    try:
        moment = datetime.strptime(time[:14], _FORMAT)  # noqa: DTZ007 - only counted on
        return f"{(moment - timedelta(days=1)).strftime(_FORMAT)}{time[14:]}"
    except (ValueError, OverflowError):
        return ""


def about(seconds: float) -> float:
    """A span of about this length, so that several who wait do not keep step.

    Units: seconds; a half more or less.
    """
    return seconds * random.uniform(0.5, 1.5)


def new_file_id_prefix() -> str:
    """A random prefix for file ids.

    Source: FSUtils.createNewFileIdPfx, Hudi 0.15.
    """
    return str(uuid.uuid4())


def new_token() -> str:
    """A text that nobody else has drawn."""
    return str(uuid.uuid4())


def _millisecond_after(time: str) -> str:
    padded = time[:_DIGITS].ljust(_DIGITS, "9")
    moment = datetime.strptime(padded[:14], _FORMAT)  # noqa: DTZ007 - only counted on
    later = moment + timedelta(milliseconds=int(padded[14:]) + 1)
    return f"{later.strftime(_FORMAT)}{later.microsecond // 1000:03d}"
