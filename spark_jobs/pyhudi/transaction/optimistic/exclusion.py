"""An exclusion that keeps nobody out: whoever commits second looks whether both can.

::

    lock { request ── snapshot } ── files ── look ── lock { look ── commit point ── look again }

A look compares what one is about to commit with whatever others have committed since one's own
snapshot, and with what is planned; what was found to be harmless is not read again.

Source: TransactionUtils.resolveWriteConflictIfAny and BaseHoodieWriteClient.preCommit, Hudi 0.15 to
1.2; decision 51 has what is looked at beyond that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata
from pyhudi.actions.file_group import GroupId
from pyhudi.errors import (
    CorruptTableError,
    InvariantError,
    MissingFileError,
    StorageError,
    WriteConflictError,
    WriterAtWorkError,
)
from pyhudi.schema import avro
from pyhudi.table.properties_file import load_config
from pyhudi.table.savepoints import pending_restores
from pyhudi.table.table import Table
from pyhudi.timeline.active import Metadata, Seen
from pyhudi.timeline.instant import Instant, State
from pyhudi.transaction.conflicts.change import Change
from pyhudi.transaction.conflicts.conflict import Conflict, ConflictRules, told
from pyhudi.transaction.conflicts.schemas import has_same_columns, schema_to_commit
from pyhudi.transaction.exclusion import Writer, check_timeline_counts, undone_by_another
from pyhudi.transaction.heartbeat import Heartbeat
from pyhudi.transaction.markers import MarkedFile, delete_written
from pyhudi.transaction.optimistic.conditions import (
    check_clock,
    check_no_metadata_table,
    warn_of_other_zones,
)
from pyhudi.transaction.optimistic.others import Look, Others, groups_marked, rolled_back

KeySearch: TypeAlias = Callable[[Table, frozenset[GroupId]], Collection[GroupId]]
"""Of some file groups of a table, those that have keys of a batch."""
PartitionSearch: TypeAlias = Callable[[Collection[str]], Collection[str]]
"""Of some partitions, those that a write is to empty, whether it has seen them or not."""

_WRITTEN = (CommitMetadata, ReplaceCommitMetadata)
_log = logging.getLogger(__name__)


class Shared:
    """Others go on meanwhile; conflicts with them are found by what each of them committed.

    ``search`` says which file groups have keys of the batch, for writes to whom it matters whether
    the table has a key; ``empties`` which partitions are meant, for those that delete whole ones by
    their names. ``is_planned`` is that of an instant that others follow before it is run.
    """

    def __init__(self, rules: ConflictRules, *, is_planned: bool = False) -> None:
        self._rules, self._is_planned = rules, is_planned
        self._seen: Others | None = None
        self._at_hand: Seen | None = None
        self._without_own_keys: set[tuple[str, str]] = set()
        self.search: KeySearch | None = None
        self.empties: PartitionSearch | None = None

    @property
    def table(self) -> Table:
        """The table as it was when the instant had been requested: what the write is to see."""
        return self._others.table

    def begin(self, writer: Writer, instant: Instant) -> None:
        """Take the snapshot; the instant is requested, and the lock is held.

        Raises:
            WriterAtWorkError: the table is being restored, or was given another version.
            UnsupportedError: it has a metadata table, which others may be writing.
            RequestError: the clocks of the table's writers are too far apart.
            WriteConflictError: a later instant has been completed since this one was drawn, which
                the lock keeps out as long as it is held.
        """
        check_clock(writer, instant.time)
        seen = writer.active.look()
        table = writer.table.seen_as(seen)
        check_timeline_counts(writer.table, table.config)
        if not self._is_planned:
            _check_latest(table, instant)
        check_no_metadata_table(table)
        warn_of_other_zones(table, seen)
        if restores := pending_restores(table.timeline):
            raise WriterAtWorkError(
                f"restore {restores[0].time} has not ended; retry when it has",
                where=writer.storage.uri,
            )
        self.see(table, instant.time)

    def see(self, table: Table, own: str) -> None:
        """Look for conflicts from here on with what is not in this table yet."""
        self._seen = Others(table, own)
        self._without_own_keys.clear()

    def check_marked(
        self, writer: Writer, instant: Instant, marked: Collection[MarkedFile]
    ) -> None:
        """Nobody else has files at this instant."""

    def check_held(
        self, writer: Writer, instant: Instant, files: Collection[str], heartbeat: Heartbeat
    ) -> None:
        """Whoever takes a writer for dead rolls it back, which takes its request away."""
        self._at_hand = seen = writer.active.look()
        requested = instant.in_state(State.REQUESTED)
        is_requested = any(file.instant == requested for file in seen.files)
        if is_requested and instant.time not in set(rolled_back(self.table, seen.timeline)):
            return
        delete_written(writer.storage, instant.time, files)
        raise undone_by_another(writer, instant.time, heartbeat)

    def agree(self, writer: Writer, instant: Instant, metadata: Metadata | None) -> Metadata:
        """Refuse what others stand against, and take over a schema that they have changed.

        Raises:
            WriteConflictError: names the others.
            UnsupportedError: the table has got a metadata table meanwhile.
        """
        if not isinstance(metadata, _WRITTEN):
            raise InvariantError(f"{instant.action.value} {instant.time} commits no statistics")
        # Under the lock it comes right after the look for oneself.
        seen, self._at_hand = self._at_hand or writer.active.look(), None
        look = self._others.look(seen)
        own = self._with_partitions_meant(Change.of(instant, metadata), look)
        found = [*look.conflicts(own, self._rules), *self._key_conflicts(own, look)]
        _refuse(writer, instant, found)
        check_no_metadata_table(replace(self.table, config=load_config(writer.storage, seen.tags)))
        return self._with_schema(writer, instant, metadata, look)

    def overlooked(
        self, writer: Writer, instant: Instant, seen: Seen | None
    ) -> WriteConflictError | None:
        """A conflict with what was committed between the last look and the commit point.

        The lock has not kept the other out: it was lost in between. One that goes on from this
        instant came after it. Where completion times tell who came first, one that was seen first
        and has a later time is in the way whatever it wrote: readers have gone on from its time.
        """
        try:
            own, look = self._others.change_of(instant), self._others.look(seen)
            if own is None:
                return None
            found = [*look.conflicts(own, self._rules), *_completed_later(instant, look)]
            if not found:
                return None
            changes = map(self._others.with_bases, look.changes)
            after = {each.instant for each in _gone_on_from(own, changes)}
            found = [each for each in found if each.other not in after]
        except (StorageError, CorruptTableError) as failure:
            _log.warning("nobody looked who committed beside %s: %s", instant.time, failure)
            return None
        if not found:
            return None
        return WriteConflictError(
            f"instant {instant.time} was committed although {told(found)}; the lock has not kept "
            "the two apart",
            where=writer.storage.uri,
            instants=tuple(sorted({each.other.time for each in found})),
        )

    def look_early(self, writer: Writer, instant: Instant, groups: frozenset[GroupId]) -> None:
        """Refuse to begin to write file groups that earlier writers, who live, are writing.

        What these are about to write their inflight instants say, and their markers what they have
        begun. Where options ask for it; also for those that others have committed meanwhile.

        Raises:
            WriteConflictError: names them.
        Source: SimpleDirectMarkerBasedDetectionStrategy and MarkerUtils.getCandidateInstants, Hudi
            0.15 and 1.1, which go by markers alone and look before each file; see decision 52.
        """
        config, found = writer.concurrency, list[Conflict]()
        if not config.looks_early:
            return
        look = self._others.look()
        for other in look.timeline.pending_writes():
            if other.time < instant.time and writer.is_alive(other.time):
                begun = self._others.begun(other)
                if both := (begun.groups | groups_marked(self.table, other)) & groups:
                    what = "is writing what this write is about to change"
                    found.append(Conflict.with_change(begun, what, both))
        if config.looks_early_at_commits:
            found += look.conflicts(Change(instant=instant, written=groups), self._rules)
        _refuse(writer, instant, found)

    def earlier_changes(
        self, own: str, error: WriteConflictError
    ) -> tuple[Table, frozenset[GroupId], frozenset[str]] | None:
        """The table as it is now, and the file groups and partitions that others have changed.

        None unless all that came since the snapshot are completed writes of earlier instants, and
        what the conflict was about is among them.
        """
        look = self._others.look()
        times = {each.instant.time for each in look.changes}
        # A plan that is in the next snapshot is taken for one that all log files lie on top of.
        is_more = look.undone or look.found.restores or look.plans or look.found.unplanned
        if is_more or not set(error.instants) <= times or not times or max(times) >= own:
            return None
        groups = frozenset(group for each in look.changes for group in each.groups)
        partitions = frozenset(path for each in look.changes for path in each.partitions)
        return replace(self.table, timeline=look.timeline), groups, partitions

    def check_not_overtaken(self, writer: Writer, instant: Instant, error: BaseException) -> None:
        """Refuse to go on without a file that went because of what others did meanwhile.

        Raises:
            WriteConflictError: names them.
        """
        look = self._others.look()
        what = f"was done meanwhile, and a file is gone: {error}"
        undoing = [*look.undone, *look.found.restores]
        found = [Conflict(other=each, what=what) for each in undoing]
        found += [Conflict.with_change(each, what) for each in look.changes]
        _refuse(writer, instant, found)

    @property
    def _others(self) -> Others:
        if self._seen is None:
            raise InvariantError("an instant that is not begun has no snapshot")
        return self._seen

    def _with_partitions_meant(self, own: Change, look: Look) -> Change:
        """One's own change, with what it is to empty of the partitions that others have made."""
        if self.empties is None:
            return own
        theirs = {path for each in look.changes for path in each.partitions}
        return replace(own, emptied=own.emptied | frozenset(self.empties(theirs)))

    def _key_conflicts(self, own: Change, look: Look) -> Iterator[Conflict]:
        """Those who wrote keys, to file groups of theirs, that this write has too.

        It has found none of them, so that it inserted them, or had nothing to delete.
        """
        if self.search is None:
            return
        table = replace(self.table, timeline=look.timeline)
        for other in look.changes:
            identity = other.instant.identity
            if other.moves_no_row or identity in self._without_own_keys:
                continue
            if groups := self.search(table, other.written - own.groups):
                yield Conflict.with_change(other, "wrote keys that this write has too", groups)
            else:
                self._without_own_keys.add(identity)

    def _with_schema(
        self,
        writer: Writer,
        instant: Instant,
        metadata: CommitMetadata | ReplaceCommitMetadata,
        look: Look,
    ) -> CommitMetadata | ReplaceCommitMetadata:
        """The metadata with the schema that the table is to have.

        Raises:
            WriteConflictError: others have changed it too, and to another one; or they have
                written later instants, which would hide what this one makes of it.
        """
        commit = metadata.commit if isinstance(metadata, ReplaceCommitMetadata) else metadata
        others = [each for each in look.changes if not each.moves_no_row]
        text = commit.schema_text
        if not others or not text or not writer.concurrency.resolves_schemas:
            return metadata
        own, theirs = avro.parse(text), replace(self.table, timeline=look.timeline).avro_schema()
        try:
            before = self.table.avro_schema()
        except MissingFileError:  # the commit that says it is archived by now
            before = None
        chosen = schema_to_commit(own, before, theirs)
        if chosen is None:
            what = "changed the schema, and so does this write"
            raise _error(writer, instant, [Conflict.with_change(others[-1], what)])
        if not has_same_columns(chosen, theirs):
            what = "is later, and would hide what this write makes of the schema"
            later = [each for each in others if each.instant.time > instant.time]
            _refuse(writer, instant, [Conflict.with_change(each, what) for each in later])
        if chosen is own:
            return metadata
        _log.info("%s: %s takes over a schema of others", writer.storage.uri, instant.time)
        extra = {**commit.extra_metadata, "schema": avro.dumps(chosen)}
        changed = replace(commit, extra_metadata=extra)
        if isinstance(metadata, ReplaceCommitMetadata):
            return replace(metadata, commit=changed)
        return changed


def _gone_on_from(own: Change, changes: Iterable[Change]) -> list[Change]:
    """Those of some changes that were made after one's own: of it, or of each other."""
    seen = [own]
    for each in sorted(changes, key=lambda change: change.instant.time):
        if any(map(each.has_seen, seen)):
            seen.append(each)
    return seen[1:]


def _completed_later(instant: Instant, look: Look) -> Iterator[Conflict]:
    """Those that have a later completion time than an instant that has just appeared."""
    own = instant.completion_time
    if own is None:
        return
    for each in look.changes:
        if (each.instant.completion_time or "") > own and not each.moves_no_row:
            yield Conflict.with_change(each, "was completed at a later time, and was seen first")


def _check_latest(table: Table, instant: Instant) -> None:
    """Refuse to go on from a write of a later instant, behind which one's own would be hidden.

    Files of a file group follow each other by their instants, and log files by when they were
    completed, where that is known. A conflict it would be no more: the snapshot has that write.
    """
    done = table.timeline.write_instants().completed()
    ended = {found.time: found.completion_time or found.time for found in done}
    if later := tuple(time for time in ended if max(time, ended[time]) > instant.time):
        raise WriteConflictError(
            f"{instant.action.value} {instant.time} cannot begin: another writer was faster "
            f"(instant {later[-1]}), since the lock was lost; retry",
            where=table.storage.uri,
            instants=later,
        )


def _refuse(writer: Writer, instant: Instant, found: Collection[Conflict]) -> None:
    if found:
        raise _error(writer, instant, found)


def _error(writer: Writer, instant: Instant, found: Collection[Conflict]) -> WriteConflictError:
    return WriteConflictError(
        f"{instant.action.value} {instant.time} cannot be committed: {told(found)}; retry",
        where=writer.storage.uri,
        instants=tuple(sorted({each.other.time for each in found})),
    )
