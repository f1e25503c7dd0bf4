"""What a write or a service needs of its surroundings, as a value."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from pyhudi.config.options.concurrency import MODE, ConcurrencyMode
from pyhudi.config.options.locks import LockConfig
from pyhudi.config.write import WriteConfig
from pyhudi.runner.runner import Runner
from pyhudi.storage.schemes import open_beside, open_storage
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock, SystemClock
from pyhudi.transaction.gate import OPEN_GATE, Gate
from pyhudi.transaction.lock.lock import TableLock
from pyhudi.transaction.lock.opening import open_lock

_log = logging.getLogger(__name__)

OpenLock: TypeAlias = Callable[[Storage, LockConfig, Clock], TableLock]
"""Gives the lock of the table in a storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Who runs tasks, what time it is, and how storages and the locks of tables are opened.

    ``open_source`` gives the storage of a dataset beside that of the table that is made of it.
    """

    runner: Runner
    clock: Clock
    open_storage: Callable[[str], Storage]
    open_source: Callable[[Storage, str], Storage] = open_beside
    open_lock: OpenLock = open_lock

    def gate(self, storage: Storage, config: WriteConfig) -> Gate:
        """What a job that writes a table goes through to begin and to commit.

        Raises:
            UnsupportedError: the lock that is asked for cannot be had on this storage.
        """
        concurrency = config.concurrency
        if not concurrency.is_optimistic:
            if concurrency.lock.provider is not None:
                _log.warning(
                    "no lock is taken: %s is %s; with %s writers go on at once under %s",
                    *(MODE.key, concurrency.mode.value, ConcurrencyMode.OPTIMISTIC.value),
                    concurrency.lock.provider.value,
                )
            return OPEN_GATE
        return Gate(self.open_lock(storage, concurrency.lock, self.clock))


def environment_on(runner: Runner, storage_options: Mapping[str, str] | None = None) -> Environment:
    """The environment of a process: its clock, and storages with these options."""
    opener = partial(open_storage, storage_options=storage_options)
    return Environment(runner=runner, clock=SystemClock(), open_storage=opener)
