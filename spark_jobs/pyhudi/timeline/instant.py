"""Actions, states and instants: what can stand on a timeline. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Final

from pyhudi.config.instant_text import normalise_instant

__all__ = ["METADATA_BOOTSTRAP", "Action", "Instant", "State", "normalise_instant"]

METADATA_BOOTSTRAP: Final = "00000000000001"
"""When files get their meta columns and the rows stay where they are.

Source: HoodieTimeline.METADATA_BOOTSTRAP_INSTANT_TS, Hudi 0.15 and 1.1.
"""


class Action(Enum):
    """What a writer does to a table, by the word in file names.

    Source: HoodieTimeline, Hudi 0.15 and 1.1.
    """

    COMMIT = "commit"
    DELTA_COMMIT = "deltacommit"
    REPLACE_COMMIT = "replacecommit"
    CLUSTERING = "clustering"
    COMPACTION = "compaction"
    LOG_COMPACTION = "logcompaction"
    CLEAN = "clean"
    ROLLBACK = "rollback"
    RESTORE = "restore"
    SAVEPOINT = "savepoint"
    INDEXING = "indexing"

    @property
    def completes_as(self) -> Action:
        """The action that a completed instant of this one is filed under."""
        return _COMPLETES_AS.get(self, self)

    @property
    def writes_rows(self) -> bool:
        """Whether data files come from it."""
        return self.completes_as in _WRITES


_COMPLETES_AS = {
    Action.COMPACTION: Action.COMMIT,
    Action.LOG_COMPACTION: Action.DELTA_COMMIT,
    Action.CLUSTERING: Action.REPLACE_COMMIT,
}
_WRITES = (Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT)


class State(IntEnum):
    """How far an instant has come."""

    REQUESTED = 0
    INFLIGHT = 1
    COMPLETED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """An action at a time, in a state.

    ``time`` is when the action was requested, 17 digits of local or UTC time as the table says (14
    in instants of old releases and of bootstraps); instants compare as texts. ``completion_time``
    is known from table version 8 on. ``is_unnamed`` says of one that was completed in an older
    version that the name of its file does not tell that time.
    """

    time: str
    action: Action
    state: State
    completion_time: str | None = None
    is_unnamed: bool = False

    @property
    def is_completed(self) -> bool:
        """Whether the action is done."""
        return self.state is State.COMPLETED

    @property
    def identity(self) -> tuple[str, str]:
        """What stays the same in all states of an instant; sorts by time, then action.

        Source: HoodieInstant.COMPARATOR (comparable actions), Hudi 0.15.
        """
        return self.time, self.action.completes_as.value

    def in_state(self, state: State, completion_time: str | None = None) -> Instant:
        """The same instant in another state, or as it is where it is in that one."""
        if state is self.state and completion_time is None:
            return self
        return replace(self, state=state, completion_time=completion_time, is_unnamed=False)
