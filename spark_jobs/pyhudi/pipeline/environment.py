"""What a write or a service needs of its surroundings, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from pyhudi.runner.runner import Runner
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Who runs tasks, what time it is, and how the storage at a path or URI is opened."""

    runner: Runner
    clock: Clock
    open_storage: Callable[[str], Storage]


def environment_on(runner: Runner, storage_options: Mapping[str, str] | None = None) -> Environment:
    """The environment of a process: its clock, and storages with these options."""
    opener = partial(open_storage, storage_options=storage_options)
    return Environment(runner=runner, clock=SystemClock(), open_storage=opener)
