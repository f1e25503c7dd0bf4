"""How long a request is tried: with pauses that grow, none like another, and an end."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeVar

from pyhudi.errors import UnclearAnswerError

T = TypeVar("T")
Missed = Callable[[UnclearAnswerError], None]
"""Called with what came instead of a clear answer."""

_LEAST: Final = 2
_SILENT_S: Final = 2.0
"""Who is told to come back later, and then is served, needs no word."""

_TOLD_EVERY_S: Final = 10.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Pauses between tries: from half of ``first_s``, doubled up to ``longest_s``.

    The last try begins before ``total_s`` are over, unless it is the third: a request may take so
    long and one time-out more. Each pause is drawn between half and whole, that writers who were
    turned away together do not come back together.

    Units: seconds.
    """

    first_s: float = 0.2
    longest_s: float = 8.0
    total_s: float = 60.0

    def pauses(self) -> Iterator[float]:
        """The pauses, each to be slept before the next is asked for; there are two at least."""
        began, longest = time.monotonic(), self.first_s
        for number in count():
            pause = longest * random.uniform(0.5, 1)
            if number >= _LEAST and time.monotonic() + pause - began > self.total_s:
                return
            yield pause
            longest = min(2 * longest, self.longest_s)


PATIENCE: Final = Patience()


def tries() -> Iterator[Missed]:
    """Something to go through once a try, with a pause between two; it is told what a try missed.

    Whoever waits sees why: the log says it after a moment, and again from time to time.
    """
    began = time.monotonic()
    told_at = began + _SILENT_S - _TOLD_EVERY_S

    def missed(error: UnclearAnswerError) -> None:
        nonlocal told_at
        now = time.monotonic()
        if now - told_at >= _TOLD_EVERY_S:
            told_at = now
            _log.warning(
                "no clear answer for %.0f s, tried again until %.0f s: %s",
                now - began,
                PATIENCE.total_s,
                error,
            )

    for pause in PATIENCE.pauses():
        yield missed
        time.sleep(pause)


def patiently(call: Callable[[], T]) -> T:
    """What a call gives that may be made any number of times.

    Raises:
        UnclearAnswerError: it had no answer, or was told to come back later, until the end.
    """
    for missed in tries():
        try:
            return call()
        except UnclearAnswerError as error:  # noqa: PERF203 - a request takes longer
            missed(error)
    return call()
