"""What time it is, and the next instant time. The only place of clocks and random ids."""

from __future__ import annotations

import random
import uuid
from datetime import datetime, timedelta, timezone
from typing import Protocol

from pyhudi.config.table import TimelineZone

_FORMAT = "%Y%m%d%H%M%S"
_DIGITS = 17


class Clock(Protocol):
    """Tells the time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        return int(datetime.now(timezone.utc).timestamp() * 1000)


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


def _millisecond_after(time: str) -> str:
    padded = time[:_DIGITS].ljust(_DIGITS, "9")
    moment = datetime.strptime(padded[:14], _FORMAT)  # noqa: DTZ007 - only counted on
    later = moment + timedelta(milliseconds=int(padded[14:]) + 1)
    return f"{later.strftime(_FORMAT)}{later.microsecond // 1000:03d}"
