"""What others have done to a table since a snapshot of it, read from its timeline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pyhudi.actions.file_group import GroupId
from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.filegroup.names import parse_base_file_name, parse_log_file_name
from pyhudi.table.table import Table
from pyhudi.timeline.active import Seen
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.conflicts.candidates import Candidates, Snapshot, candidates
from pyhudi.transaction.conflicts.change import Change
from pyhudi.transaction.conflicts.conflict import Conflict, ConflictRules
from pyhudi.transaction.markers import read_markers


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at the timeline found.

    ``changes`` are those that were completed since the snapshot, ``plans`` what services and
    overwrites are about to do. ``undone`` were completed in the snapshot, and are taken back or
    about to be.
    """

    timeline: Timeline
    found: Candidates
    changes: tuple[Change, ...]
    plans: tuple[Change, ...]
    undone: tuple[Instant, ...]

    def conflicts(self, own: Change, rules: ConflictRules) -> Iterator[Conflict]:
        """What one's own change cannot stand beside, as far as the timeline tells."""
        for other in self.changes:
            if conflict := rules.between(own, other):
                yield conflict
        for plan in self.plans:
            if conflict := rules.with_plan(own, plan):
                yield conflict
        for gone in self.undone:
            yield Conflict(other=gone, what="was rolled back meanwhile, and this write has seen it")
        for restore in self.found.restores:
            yield Conflict(other=restore, what="takes the table back to a savepoint")
        for time in sorted(self.found.unplanned & own.bases):
            plan_gone = Instant(time=time, action=Action.COMPACTION, state=State.REQUESTED)
            yield Conflict(other=plan_gone, what="was taken back, and log files were written to it")


class Others:
    """The others, as one sees them who began at a snapshot; what they committed is read once."""

    def __init__(self, table: Table, own: str) -> None:
        self.table = table
        self._snapshot = Snapshot(own=own, timeline=table.timeline)
        self._changes: dict[tuple[str, str], Change] = {}

    def look(self, seen: Seen | None = None) -> Look:
        """Look at what there is by now, which may just have been listed."""
        timeline = self.table.active.load() if seen is None else seen.timeline
        found = candidates(self._snapshot, timeline)
        changes = (self.change_of(each) for each in found.completed)
        return Look(
            timeline=timeline,
            found=found,
            changes=tuple(each for each in changes if each is not None),
            plans=tuple(self._plans(found)),
            undone=(*found.gone, *self._being_undone(timeline)),
        )

    def change_of(self, instant: Instant) -> Change | None:
        """What a completed instant did; None where it was undone or archived this moment."""
        if instant.identity not in self._changes:
            try:
                metadata = self.table.active.read_replace_commit(instant)
            except MissingFileError:
                return None
            self._changes[instant.identity] = Change.of(instant, metadata)
        return self._changes[instant.identity]

    def begun(self, pending: Instant) -> Change:
        """What a write that has not ended says of itself; nothing where that cannot be read."""
        try:
            return Change.of(pending, self.table.active.read_replace_commit(pending))
        except (MissingFileError, CorruptTableError):
            return Change(instant=pending)

    def with_bases(self, change: Change) -> Change:
        """A completed change with the base files below its log files among what it has known.

        Where log files name their write, its statistics name no other file: what the write said
        that it was about to do tells.
        """
        if not (change.bases and self.table.config.version.logs_name_their_write):
            return change
        begun = self.begun(change.instant.in_state(State.INFLIGHT))
        return replace(change, known=change.known | begun.known)

    def _plans(self, found: Candidates) -> Iterator[Change]:
        active = self.table.active
        for instant in found.planned:
            if instant.action is Action.COMPACTION:
                try:
                    plan = active.read_compaction_plan(instant)
                except MissingFileError:
                    continue
                groups = frozenset(each.file_group for each in plan.operations)
                yield Change.planned(instant, groups, operation="COMPACT")
            elif (clustered := active.clustered_groups(instant)) is not None:
                yield Change.planned(instant, clustered, operation="CLUSTER")
        for instant in found.overwriting:
            if instant.state is State.INFLIGHT and active.clustered_groups(instant) is None:
                try:
                    metadata = active.read_replace_commit(instant)
                except MissingFileError:
                    continue
                yield replace(Change.of(instant, metadata), replaced=frozenset())

    def _being_undone(self, timeline: Timeline) -> Iterator[Instant]:
        """Completed writes that the snapshot counts on and that rollbacks since are about.

        One that is older than all that is left of the timeline would seem to be archived.
        """
        before = {each.identity for each in self._snapshot.timeline if each.is_completed}
        since = (each for each in timeline if not each.is_completed or each.identity not in before)
        times = set(_targets(self.table, since))
        if times:
            seen = self._snapshot.timeline.write_instants().completed()
            yield from (found for found in seen if found.time in times)


def groups_marked(table: Table, pending: Instant) -> frozenset[GroupId]:
    """The file groups to which a write that has not ended gives files, as its markers tell."""
    marked = (each.path.rpartition("/") for each in read_markers(table.storage, pending.time))
    named = (
        (partition, parse_log_file_name(name) or parse_base_file_name(name))
        for partition, _, name in marked
    )
    return frozenset((partition, name.file_id) for partition, name in named if name is not None)


def rolled_back(table: Table, timeline: Timeline) -> Iterator[str]:
    """The times of instants that pending rollbacks are about."""
    return _targets(table, timeline.pending())


def _targets(table: Table, instants: Iterable[Instant]) -> Iterator[str]:
    """The times of instants that the rollbacks among some instants are about."""
    for found in instants:
        if found.action is Action.ROLLBACK:
            try:
                yield table.active.read_rollback_plan(found).instant.time
            except (MissingFileError, CorruptTableError):
                # It has ended, or is being written and has not deleted anything.
                continue
