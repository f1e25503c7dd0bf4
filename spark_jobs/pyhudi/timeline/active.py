"""The active timeline on storage: the instants of a table, and what their files say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from pyhudi.actions.clean import CleanMetadata, CleanPlan
from pyhudi.actions.commit import CommitMetadata, ReplaceCommitMetadata
from pyhudi.actions.compaction import CompactionPlan
from pyhudi.actions.file_group import GroupId
from pyhudi.actions.json_text import pretty
from pyhudi.actions.plain import PlainBody
from pyhudi.actions.replace import RequestedReplace
from pyhudi.actions.restore import RestoreMetadata, RestorePlan
from pyhudi.actions.rollback import RollbackMetadata, RollbackPlan
from pyhudi.actions.savepoint import SavepointMetadata
from pyhudi.config.table import TableConfig, TimelineZone
from pyhudi.config.versions import TableVersion, TimelineLayout
from pyhudi.errors import AlreadyExistsError, MissingFileError, StorageError, located
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.storage.versioned import is_flat
from pyhudi.timeline import layout
from pyhudi.timeline.clock import Clock, instant_time, next_instant_time
from pyhudi.timeline.ending import (
    agreed_ending,
    completed_among,
    forget_ending,
    rising_ending,
)
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from pyhudi.timeline.whole import WHOLE

# How often the timeline is listed, when instants are archived the while.
_LOADS = 20

_Read = TypeVar("_Read", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFile:
    """The file of an instant in its state, and when it was written, as an instant time.

    ``has_sidecar`` says whether Hadoop's local file system has left a checksum beside it.
    """

    instant: Instant
    written: str
    size_bytes: int
    has_sidecar: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One listing of a timeline: its instants, and the ``listed`` files."""

    active: ActiveTimeline
    timeline: Timeline
    listed: tuple[FileStatus, ...]

    @property
    def files(self) -> tuple[StateFile, ...]:
        """Every file of every instant, in the order of instants and states."""
        return self.active.files_among(self.listed)

    @property
    def tags(self) -> Mapping[str, str]:
        """The versions of files by their paths, where the storage lists such."""
        return {each.path: each.tag for each in self.listed if each.tag}

    def written(self, instant: Instant) -> str | None:
        """When the file of an instant in its state was written, as an instant time."""
        return next((file.written for file in self.files if file.instant == instant), None)


class Metadata(Protocol):
    """What an instant's file says, as a value."""

    def to_bytes(self) -> bytes:
        """The body of the file."""
        ...


class _Kind(Protocol[_Read]):
    def from_bytes(self, data: bytes) -> _Read: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveTimeline:
    """The timeline of one table, whose instants are read and written as values.

    Which folder, names, encoding and completion times a table version has is known here and in
    ``layout.py``. Those who ask name an instant in any state; the method says which is meant.
    ``archive_folder`` lies beside the instants, and has those that left them. ``folder`` is the
    name of the timeline's own folder in layout 2. ``below`` is the folder of a table that lies
    within another, with a slash at its end.

    Guarantees: an instant's file appears whole or not at all; of several writers one succeeds, the
        others get AlreadyExistsError. Files of earlier states stay beside it.

    Raises: MissingFileError by what reads, of an instant that never had the state, or was rolled
        back or archived since; CorruptTableError when its file cannot be read.
    """

    storage: Storage
    version: TableVersion
    zone: TimelineZone
    archive_folder: str = "archived"
    folder: str = "timeline"
    below: str = ""

    @classmethod
    def of(cls, storage: Storage, config: TableConfig) -> ActiveTimeline:
        """The timeline of the table in a storage."""
        return cls(
            storage=storage,
            version=config.version,
            zone=config.timezone,
            archive_folder=config.archive_folder,
            folder=config.timeline_folder,
        )

    def load(self) -> Timeline:
        """The instants as they are now; opens no file.

        Guarantees: no instant is missing that is later than the first, however many are archived
            meanwhile. They are deleted oldest first, so none was while the first stays.
        """
        return self.look().timeline

    def look(self) -> Seen:
        """As ``load``, with what else the listing shows."""
        found, listed = Timeline(), list[FileStatus]()
        for _ in range(_LOADS):
            listed = self.storage.list(self._folder)
            found = Timeline.of(self._instants(listed))
            first = found.write_instants().first
            is_archived = any(each.is_dir and each.name == self.archive_folder for each in listed)
            if first is None or not is_archived or self._is_whole(found, first):
                break
        return Seen(active=self, timeline=found, listed=tuple(listed))

    def state_files(self) -> tuple[StateFile, ...]:
        """Every file of every instant, that of each state, in the order of instants and states."""
        return self.files_among(self.storage.list(self._folder))

    def files_among(self, listed: Collection[FileStatus]) -> tuple[StateFile, ...]:
        """The files of instants among those of the timeline's folder, ordered alike."""
        names = frozenset(status.name for status in listed)
        found = (
            StateFile(
                instant=instant,
                written=instant_time(status.modified_ms, self.zone),
                size_bytes=status.size_bytes,
                has_sidecar=_sidecar(status.name) in names,
            )
            for status in listed
            for instant in self._instants([status])
        )
        return tuple(sorted(found, key=lambda file: (file.instant.identity, file.instant.state)))

    def read_body(self, instant: Instant) -> bytes:
        """The bytes of the file of an instant in its state."""
        return self._data(instant)

    def put_body(self, instant: Instant, body: bytes) -> None:
        """Make or replace the file of an instant in its state, of a timeline that nobody reads."""
        self.storage.put(self._path(instant), body)

    def remove_file(self, file: StateFile) -> None:
        """Delete one of ``state_files``, with the checksum that Hadoop left beside it."""
        self.remove(file.instant)
        if file.has_sidecar:
            path = self._path(file.instant)
            folder, _, name = path.rpartition("/")
            self.storage.delete(f"{folder}/{_sidecar(name)}")

    def next_time(self, clock: Clock, after: str | None) -> str:
        """A time for a new instant, see ``next_instant_time``."""
        return next_instant_time(clock, self.zone, after)

    def completion_time(self, instant: Instant) -> str | None:
        """When an instant was completed, as an instant time; None when it is not.

        Source: HoodieInstant, Hudi 0.15: in layout 1 the completed file's modification time tells
        ("state transition time"), in layout 2 its name. InstantGeneratorV2, Hudi 1.1: where that
        says nothing, as of instants of an upgraded table, the modification time tells again.
        """
        if instant.is_completed and not instant.is_unnamed and instant.completion_time is None:
            instant = self.completed(instant)
        if instant.completion_time is not None:
            return instant.completion_time
        status = self.storage.status(self._path(instant))
        return None if status is None else instant_time(status.modified_ms, self.zone)

    def where(self, instant: Instant) -> str:
        """The file of an instant in its state, as errors name it."""
        return self.storage.absolute(self._path(instant))

    def is_requested(self, instant: Instant) -> bool:
        """Whether the instant's requested file is there: a rollback takes it away."""
        requested = instant.in_state(State.REQUESTED)
        return self.storage.exists(self._path(requested))

    def request(self, instant: Instant, plan: Metadata | None) -> None:
        """Put an instant on the timeline, with its plan if it has one."""
        self._create(instant.in_state(State.REQUESTED), self._encoded(plan))

    def start(self, instant: Instant, plan: Metadata | None) -> None:
        """Make an instant inflight, with what it is about to do if that is known."""
        self._create(instant.in_state(State.INFLIGHT), self._encoded(plan))

    def ending(self, instant: Instant, clock: Clock, skew_ms: int | None = None) -> Instant:
        """An instant as it is to be completed now, in layout 2 with the time of that.

        ``skew_ms`` is given beside others who complete theirs, see ``rising_ending``; else the time
        is noted, see ``agreed_ending``.
        """
        if self.version.timeline_layout is TimelineLayout.ONE:
            return instant.in_state(State.COMPLETED)
        if skew_ms is None:
            return agreed_ending(self.storage, instant, self.zone, clock, self.load)
        with located(self.where(instant)):
            return rising_ending(instant, self.zone, clock, self.load, skew_ms)

    def complete(self, instant: Instant, metadata: Metadata | None, clock: Clock) -> Instant:
        """Complete an instant, and give it as it is then; one with an ``ending`` keeps that.

        Guarantees: a call that failed after the file had appeared has done its work. Of those who
            complete one instant one succeeds, the others get AlreadyExistsError; in layout 2 too,
            where the name of the file tells when that was.

        Source: HoodieActiveTimeline, Hudi 0.15 (layout 1: states are files of their own) and 1.1
            (layout 2).
        """
        completed = instant if instant.is_completed else self.ending(instant, clock)
        body = self._encoded(metadata)
        try:
            self._create(completed, body)
        except StorageError as error:
            if not self._says(completed, body):
                if isinstance(error, AlreadyExistsError):
                    self.forget_ending(completed)
                raise
        self.forget_ending(completed)
        return completed

    def forget_ending(self, instant: Instant) -> None:
        """Take away what was noted of the end of an instant that is completed, or undone.

        Where that cannot be done now it stays for ``sweep_endings``.
        """
        if self.version.timeline_layout is TimelineLayout.TWO:
            with suppress(StorageError):
                forget_ending(self.storage, instant)

    def completed(self, instant: Instant) -> Instant:
        """An instant as it is when it is completed, in layout 2 with the time that its file tells.

        Without that time where it is not completed.
        """
        is_told = self.version.timeline_layout is TimelineLayout.TWO
        found = completed_among(self.load(), instant) if is_told else None
        return found or instant.in_state(State.COMPLETED)

    def begun_as(self, instant: Instant) -> Action:
        """The action that an instant was requested under: its own, or that of a service.

        Source: HoodieTimeline.getInflightInstant, Hudi 0.15.
        """
        for action in Action if instant.is_completed else ():
            if action is not instant.action and action.completes_as is instant.action:
                begun = replace(instant, action=action, completion_time=None)
                if self.is_requested(begun):
                    return action
        return instant.action

    def revert(self, instant: Instant) -> Instant:
        """Make a completed instant inflight again, and give it as it is then.

        Its inflight file says from then on what the completed one said, for those who go on from
        here.

        Guarantees: the write counts until the completed file is gone, and not afterwards. From
            wherever it stops it can be done again.
        Source: HoodieActiveTimeline.revertToInflight, Hudi 0.15, which leaves an inflight file as
        it is.
        """
        action, body = self.begun_as(instant), self._data(instant)
        pending = Instant(time=instant.time, action=action, state=State.INFLIGHT)
        with suppress(AlreadyExistsError):
            self.request(pending, None)
        self.storage.put(self._path(pending), body)
        self.remove(instant)
        return pending

    def remove(self, instant: Instant) -> None:
        """Delete the file of an instant in its state; absent is fine."""
        self.storage.delete(self._path(instant))

    def read_commit(self, instant: Instant) -> CommitMetadata:
        """What a completed instant wrote."""
        return self._read(instant, CommitMetadata)

    def read_replace_commit(
        self, instant: Instant, is_kept: Callable[[str], bool] | None = None
    ) -> ReplaceCommitMetadata:
        """What a completed instant replaced, and wrote to the partitions that ``is_kept`` keeps."""
        data = self._data(instant)
        with located(self.where(instant)):
            return ReplaceCommitMetadata.from_bytes(data, is_kept)

    def read_commit_mentioning(self, instant: Instant, text: str) -> ReplaceCommitMetadata | None:
        """What a completed instant wrote and replaced, if its file has a text in it.

        Metadata can be large; most of it need not be parsed to see that the text is not in it.
        """
        data = self._data(instant)
        # JSON escapes what Avro has as it is.
        if pretty(text).encode() not in data and text.encode() not in data:
            return None
        return self._parsed(instant, data, ReplaceCommitMetadata)

    def read_compaction_plan(self, instant: Instant) -> CompactionPlan:
        """The plan of a compaction or log compaction."""
        return self._read(instant.in_state(State.REQUESTED), CompactionPlan)

    def read_rollback_plan(self, instant: Instant) -> RollbackPlan:
        """The plan of a rollback."""
        return self._read(instant.in_state(State.REQUESTED), RollbackPlan)

    def read_rollback(self, instant: Instant) -> RollbackMetadata:
        """What a completed rollback did."""
        return self._read(instant, RollbackMetadata)

    def read_restore_plan(self, instant: Instant) -> RestorePlan:
        """The plan of a restore."""
        return self._read(instant.in_state(State.REQUESTED), RestorePlan)

    def read_restore(self, instant: Instant) -> RestoreMetadata:
        """What a completed restore did."""
        return self._read(instant, RestoreMetadata)

    def read_savepoint(self, instant: Instant) -> SavepointMetadata:
        """What a completed savepoint keeps."""
        return self._read(instant, SavepointMetadata)

    def read_clean(self, instant: Instant) -> CleanMetadata:
        """What a completed clean did."""
        return self._read(instant, CleanMetadata)

    def read_clean_plan(self, instant: Instant) -> CleanPlan | None:
        """The plan of a clean; None where its file is empty, which Hudi may leave when it dies.

        Source: CleanActionExecutor.runClean, Hudi 0.15: the inflight file has the plan as well.
        """
        try:
            data = self._data(instant.in_state(State.REQUESTED))
        except MissingFileError:
            data = self._data(instant.in_state(State.INFLIGHT))
        return self._parsed(instant, data, CleanPlan) if data else None

    def read_plain(self, instant: Instant) -> PlainBody:
        """What the file of an instant in its state says, whatever its action."""
        return self._read(instant, PlainBody)

    def clustered_groups(self, instant: Instant) -> frozenset[GroupId] | None:
        """The file groups that a pending clustering rewrites; None for any other instant.

        Source: HoodieRequestedReplaceMetadata, Hudi 0.15: in table version 6 a clustering is
        requested as a replacecommit, told from others by its plan.
        """
        if instant.action not in (Action.REPLACE_COMMIT, Action.CLUSTERING):
            return None
        try:
            return self._read(instant.in_state(State.REQUESTED), RequestedReplace).clustered
        except MissingFileError:
            return None

    @property
    def _folder(self) -> str:
        return f"{self.below}{layout.folder(self.version, self.folder)}"

    def _path(self, instant: Instant) -> str:
        return f"{self._folder}/{layout.file_name(instant, self.version)}"

    def _instants(self, listed: Iterable[FileStatus]) -> Iterator[Instant]:
        for status in listed:
            found = layout.parse_file_name(status.name, self.version)
            if found is None or status.is_dir:
                continue
            if found.is_unnamed:
                found = replace(found, completion_time=instant_time(status.modified_ms, self.zone))
            yield found

    def _is_whole(self, found: Timeline, first: Instant) -> bool:
        where = self.storage.absolute(self._folder)
        is_told = is_flat(self.storage) and WHOLE.has_all_in(where, found)
        if not (is_told or self.storage.exists(self._path(first))):
            return False
        WHOLE.put(where, found)
        return True

    def _read(self, instant: Instant, kind: _Kind[_Read]) -> _Read:
        return self._parsed(instant, self._data(instant), kind)

    def _parsed(self, instant: Instant, data: bytes, kind: _Kind[_Read]) -> _Read:
        with located(self.where(instant)):
            return kind.from_bytes(data)

    def _data(self, instant: Instant) -> bytes:
        path = self._path(instant)
        # What a completed instant says never changes, and every reader of a table asks for it.
        settled = instant.is_completed
        return self.storage.read_settled(path) if settled else self.storage.read(path)

    def _create(self, instant: Instant, body: bytes) -> None:
        self.storage.create(self._path(instant), body)

    def _encoded(self, metadata: Metadata | None) -> bytes:
        if metadata is None:
            return b""
        is_second = self.version.timeline_layout is TimelineLayout.TWO
        # What writes say is all that the layouts spell otherwise.
        if is_second and isinstance(metadata, (CommitMetadata, ReplaceCommitMetadata)):
            return metadata.to_avro()
        return metadata.to_bytes()

    def _says(self, instant: Instant, body: bytes) -> bool:
        try:
            return self.storage.read(self._path(instant)) == body
        except StorageError:
            return False


def _sidecar(name: str) -> str:
    """The name of the checksum of a file (ChecksumFileSystem, Hadoop 3)."""
    return f".{name}.crc"
