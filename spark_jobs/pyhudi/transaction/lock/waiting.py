"""How a lock that others hold is waited for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, TypeVar

from pyhudi.config.options.locks import LockConfig
from pyhudi.errors import LockError
from pyhudi.timeline.clock import Clock, about

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
_SILENT_MS: Final = 10_000
"""How long one waits without a word."""

_log = logging.getLogger(__name__)

T = TypeVar("T")


def wait_for(
    attempt: Callable[[], T | None],
    holder: Callable[[], str],
    *,
    config: LockConfig,
    clock: Clock,
    where: str,
) -> T:
    """What ``attempt`` gives, tried until it gives something.

    ``holder`` tells who has the lock. Pauses get longer up to a second, and none lasts as long as
    that of another who waits. Hudi's own last 5 seconds, in which a lock that is held for moments
    changes hands many times.

    Raises:
        LockError: all tries were in vain.
    """
    began_ms, pause_s, is_told = clock.monotonic_ms(), _FIRST_PAUSE_S, False
    longest_s = min(_LONGEST_PAUSE_S, max(config.retry_wait_ms / 1000, _FIRST_PAUSE_S))
    while True:
        got = attempt()
        if got is not None:
            return got
        waited_ms = clock.monotonic_ms() - began_ms
        left_s = (config.patience_ms - waited_ms) / 1000
        if left_s <= 0:
            raise LockError(
                f"the lock of the table was not free for {config.patience_ms / 1000:g} s: "
                f"{holder()}; retry, or see pyhudi lock show",
                where=where,
            )
        if waited_ms > _SILENT_MS and not is_told:
            _log.warning("waiting for the lock of the table, up to %d s: %s", left_s, holder())
            is_told = True
        clock.sleep(min(about(pause_s), left_s))
        pause_s = min(pause_s * 2, longest_s)
