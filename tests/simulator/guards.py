"""What keeps each anomaly out, and the same engine without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from pyhudi.pipeline import begun
from pyhudi.runner.task import TaskIdentity
from pyhudi.services import archive, clean, rollback
from pyhudi.services.clean_plan import Protected
from pyhudi.services.compaction import run as compaction
from pyhudi.table import table as tables
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import instant_time
from pyhudi.transaction import exclusion, instant_run
from pyhudi.transaction.conflicts.conflict import ConflictRules
from pyhudi.transaction.exclusion import Alone
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.transaction.lock import file_system, storage_based
from pyhudi.transaction.optimistic import exclusion as optimistic
from pyhudi.transaction.optimistic.exclusion import Shared
from tests.simulator.files import Files


@dataclass(frozen=True, slots=True)
class Guard:
    """Something of the engine that keeps others out or takes a second look.

    ``without`` replaces it by nothing: objects, the names of their attributes, and what stands
    there instead.
    """

    what: str
    without: tuple[tuple[object, str, Any], ...]

    @contextmanager
    def taken_out(self) -> Iterator[None]:
        """A span in which the engine is without it."""
        with ExitStack() as held:
            for owner, name, instead in self.without:
                held.enter_context(patch.object(owner, name, instead))
            yield


def _nothing(*_: object, **__: object) -> None:
    return None


def _give(value: object) -> Callable[..., object]:
    return lambda *_, **__: value


def _begin_anyway(self: Alone, writer: object, instant: object) -> None:
    del self, writer, instant


def _put(self: Files, path: str, data: bytes) -> None:
    self.put(path, data)


def _by_the_clock_alone(self: ActiveTimeline, clock: Any, after: str | None) -> str:
    del after
    return instant_time(clock.now_ms(), self.zone)


@contextmanager
def _whoever_writes(writer: Any) -> Iterator[tuple[Any, str]]:
    yield writer.table.refresh(), ""


def _latest_only(timeline: Any, *_: object) -> Any:
    return timeline.write_instants().completed().last


def _unprotected(*_: object) -> Protected:
    return Protected(saved=frozenset(), compacting={}, replaced={})


def _no_schema_look(self: Shared, writer: Any, instant: Any, metadata: Any, look: Any) -> Any:
    del self, writer, instant, look
    return metadata


def _no_archive_look(archived: Any, files: Any) -> tuple[int, frozenset[tuple[str, str, str]]]:
    del files
    return max((each.number for each in archived.files()), default=0), frozenset()


def _as_of_the_task(self: TaskIdentity, instant: str) -> str:
    del instant
    return self.write_token


def _no_conflict(*_: object) -> tuple[object, ...]:
    return ()


def _no_recovery(*_: object) -> tuple[str, ...]:
    return ()


_LAST_LOOK = (
    (Alone, "check_held", _nothing),
    (instant_run, "check_kept", _nothing),
)
_LOOKS_AFTERWARDS = (
    (rollback, "has_files_of", _give(value=False)),
    (instant_run, "check_kept", _nothing),
)
LOOK_FOR_OTHERS = Guard(
    "who begins looks for others, and who commits for what they did",
    (
        (Alone, "begin", _begin_anyway),
        (Alone, "check_held", _nothing),
        (begun, "recover", _no_recovery),
    ),
)
EXCLUSIVE_CREATE = Guard("a file is created for one alone", ((Files, "create", _put),))
DRAWN_LATER = Guard(
    "instants are drawn after all that are there",
    (
        (ActiveTimeline, "next_time", _by_the_clock_alone),
        (exclusion, "_check_latest", _nothing),
    ),
)
LAST_LOOK = Guard("who was taken for dead finds so before it commits, or right after", _LAST_LOOK)
LAST_LOOK_OF_SEVERAL = Guard(
    "among several, who was taken for dead finds so before it commits, or right after",
    (
        (Shared, "check_held", _nothing),
        (InstantRun, "_check_heartbeat", _nothing),
        (instant_run, "check_kept", _nothing),
    ),
)
BEGUN_LATEST = Guard(
    "among several, who begins is later than all it sees",
    ((optimistic, "_check_latest", _nothing),),
)
READ_BACK = Guard(
    "after an unclear answer the completed file is read back",
    ((ActiveTimeline, "_says", _give(value=False)),),
)
PLANNED_ALONE = Guard(
    "nobody writes while a compaction is planned",
    (
        (compaction, "undisturbed", _whoever_writes),
        (compaction, "_check_undisturbed", _nothing),
    ),
)
ONE_RUN = Guard(
    "one run of a plan has its heartbeat, and looks whether it was taken over",
    (
        (compaction.OneRunOfAPlan, "begin", _nothing),
        (compaction.OneRunOfAPlan, "check_marked", _nothing),
        (compaction.OneRunOfAPlan, "check_held", _nothing),
        *_LOOKS_AFTERWARDS,
    ),
)
RUN_OR_UNDONE = Guard(
    "who commits a run of a plan and who rolls it back look for each other once they have said so",
    _LOOKS_AFTERWARDS,
)
RETAINED = Guard(
    "a clean keeps what the retained commits need", ((clean, "earliest_retained", _latest_only),)
)
PROTECTED = Guard(
    "a clean keeps what plans and savepoints need", ((clean, "_protected", _unprotected),)
)
LATE_PLANS = Guard(
    "a clean whose plan comes late says what the others retain",
    ((clean, "retention", SimpleNamespace(earliest_retained=_nothing)),),
)
ARCHIVED_ONCE = Guard(
    "an archiver looks for what one that died has archived",
    ((archive, "_known", _no_archive_look),),
)
COMPLETED_LATER = Guard(
    "who commits looks whether others have a later completion time and were seen first",
    ((optimistic, "_completed_later", _no_conflict),),
)
KEYS_SOUGHT = Guard(
    "file groups that others made meanwhile are searched for one's keys",
    ((begun.Begun, "look_for_keys", _nothing),),
)
CONFLICTS = Guard(
    "what others changed meanwhile is compared with one's own change",
    (
        (ConflictRules, "between", _nothing),
        (ConflictRules, "with_plan", _nothing),
    ),
)
CONFIRMED = Guard(
    "the lock and the heartbeat are confirmed last before the commit point",
    (
        (storage_based._Held, "confirm", _nothing),
        (file_system._Held, "confirm", _nothing),
        (InstantRun, "_check_heartbeat", _nothing),
    ),
)
SCHEMAS = Guard(
    "what others made of the schema meanwhile is looked at",
    ((Shared, "_with_schema", _no_schema_look),),
)
PROMISES = Guard(
    "files are held against what the commits say of them", ((tables, "refuse", _nothing),)
)
OWN_LOG_NAMES = Guard(
    "log files bear the write in their names", ((TaskIdentity, "log_token", _as_of_the_task),)
)

BY_NAME = {name: each for name, each in vars().items() if isinstance(each, Guard)}
"""All of them, by the names they have here."""
GUARDS = tuple(BY_NAME.values())
