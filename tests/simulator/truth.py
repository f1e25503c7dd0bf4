"""What a table should say, told by nothing but the appearance of completed instants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pyhudi.config.options.operations import Operation
from tests.simulator.rows import Asked, Rows

_COMPLETED = re.compile(
    r"\.hoodie/(?:timeline/)?(\d+)(?:_(\d+))?\.(commit|deltacommit|replacecommit)"
)


def instant_of(path: str) -> str:
    """The time at which an instant was requested, of whose files this is one."""
    return path.rpartition("/")[2].partition(".")[0].partition("_")[0]


@dataclass(slots=True)
class Landed:
    """A write that was completed: what it did to the rows, which is nothing for a compaction, and
    the step that it was ``by``.

    ``ended`` is the completion time in the name of its file, where that tells it.

    ``taken_back_by`` is what the process was doing that took it back. One that ``is_late`` had been
    rolled back before it was completed, or the lock had gone to others: its writer was suspended
    between its last look and the commit, and takes it back as soon as it sees that.
    """

    instant: str
    asked: Asked | None
    by: object
    taken_back_by: str = ""
    is_late: bool = False
    ended: str | None = None

    @property
    def counts(self) -> bool:
        """Whether it is still one of the table's."""
        return not (self.taken_back_by or self.is_late)


class Truth:
    """The writes in the order in which they were completed, and the rows they leave.

    ``doing`` tells what the process does whose turn it is. ``states`` has the rows of each moment.
    """

    def __init__(self, doing: Callable[[], str]) -> None:
        self.landed: list[Landed] = []
        self.states: list[Rows] = [{}]
        self.late_ones = 0
        self._doing = doing

    def copy(self, doing: Callable[[], str]) -> Truth:
        """The same history so far."""
        copied = Truth(doing)
        copied.landed = [replace(each) for each in self.landed]
        copied.states = self.states[-1:]
        return copied

    @property
    def now(self) -> Rows:
        """The rows of this moment."""
        return self.states[-1]

    @property
    def late(self) -> list[str]:
        """The instants that are seen though they were rolled back."""
        return [each.instant for each in self.landed if each.is_late and not each.taken_back_by]

    def note(
        self,
        path: str,
        *,
        is_there: bool,
        is_late: bool = False,
        asked: Mapping[str, Asked] = MappingProxyType({}),
        step: object = None,
    ) -> bool:
        """A file came to be or went; whether that changed what the table says.

        ``asked`` has what the step of the process is about at each of its instants.
        """
        found = _COMPLETED.fullmatch(path)
        if found is None:
            return False
        instant = found[1]
        if is_there:
            what = asked.get(instant)
            self.landed.append(Landed(instant, what, step, is_late=is_late, ended=found[2]))
            self.late_ones += is_late
        else:
            doing = self._doing()
            if doing.startswith("archive"):
                return False
            for each in self.landed:
                if each.instant == instant and not each.taken_back_by:
                    each.taken_back_by = doing
        self.states.append(self.rows())
        return True

    def mark_late(self, path: str) -> None:
        """What was completed at a path a moment ago is late."""
        instant = instant_of(path)
        for each in self.landed:
            if each.instant == instant:
                each.is_late = True
        self.late_ones += 1
        self.states.append(self.rows())

    def judge_late(self, is_rolled_back: Callable[[str], bool]) -> None:
        """A rollback was withdrawn: what it was to undo may count after all."""
        for each in self.landed:
            if each.is_late and not is_rolled_back(each.instant):
                each.is_late = False
        self.states.append(self.rows())

    def ends_too_early(self) -> str | None:
        """The write that was completed last, if one that counts has a later completion time.

        Readers that have seen the other go on from its time, and would pass this one by.
        """
        *before, last = self.landed
        if last.ended is None or not (last.asked and last.counts):
            return None
        others = (each for each in before if each.counts and each.asked and each.ended)
        is_passed = any(str(each.ended) >= last.ended for each in others)
        return last.instant if is_passed else None

    def rows(self, as_of: str | None = None) -> Rows:
        """The rows now or as of an instant: what was requested until then and is completed."""
        return replay(
            each.asked
            for each in self.landed
            if each.counts and each.asked and (as_of is None or each.instant <= as_of)
        )


def replay(writes: Iterable[Asked | None]) -> Rows:
    """The rows that writes leave, one after another."""
    rows: Rows = {}
    for asked in writes:
        if asked is not None:
            rows = effect(rows, asked)
    return rows


def effect(rows: Rows, asked: Asked) -> Rows:
    """The rows after a write."""
    partitions = {partition for partition, _ in asked.rows} | set(asked.partitions)
    match asked.operation:
        case Operation.DELETE:
            return {key: value for key, value in rows.items() if key not in asked.rows}
        case Operation.DELETE_PARTITION:
            return {key: value for key, value in rows.items() if key[0] not in partitions}
        case Operation.INSERT_OVERWRITE:
            kept = {key: value for key, value in rows.items() if key[0] not in partitions}
            return {**kept, **asked.rows}
        case Operation.INSERT_OVERWRITE_TABLE:
            return dict(asked.rows)
        case _:
            return {**rows, **asked.rows}
