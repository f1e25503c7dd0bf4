"""The archived timeline: what left the timeline, and what its files said.

In layout 1 an archive file has the instants of one run of archiving, the newest the highest number.
In layout 2 the files are those of a ``History``.

Source: HoodieArchivedTimeline and HoodieTimelineArchiver, Hudi 0.15; ArchivedTimelineV1, Hudi 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.archived import ArchivedFile, archive_schema
from pyhudi.actions.commit import ReplaceCommitMetadata, WriteStat
from pyhudi.config.table import TableConfig, TimelineZone
from pyhudi.config.versions import TimelineLayout
from pyhudi.errors import MissingFileError, located
from pyhudi.filegroup.names import parse_log_file_name
from pyhudi.logfile.archive import encode_archive, iter_archive
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.table.history import ACTION, COMPLETION_TIME, METADATA, TIME, History
from pyhudi.timeline.clock import instant_time
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline

_FILE: Final = re.compile(r"\.commits_\.archive\.(\d+)(?:_.*)?")
_ACTIONS: Final = {action.value: action for action in Action}
_SLACK_MS: Final = 2 * 3_600_000
_STATES: Final = {state.name: state for state in State}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFile:
    """A file of archived instants; the higher its number, the later it was made.

    What was completed after its modification is not in it.
    """

    number: int
    status: FileStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedTimeline:
    """The archived instants of a table.

    Guarantees: nothing that was archived is missing while it is read, as an instant is in the
        archive before it leaves the timeline. Some may be there twice: an archiver died, or small
        archive files are being merged.
    """

    storage: Storage
    folder: str
    zone: TimelineZone = TimelineZone.LOCAL
    layout: TimelineLayout = TimelineLayout.ONE

    @classmethod
    def of(cls, storage: Storage, config: TableConfig) -> ArchivedTimeline:
        """The archive of the table in a storage."""
        return cls(
            storage=storage,
            folder=config.archive_path,
            zone=config.timezone,
            layout=config.version.timeline_layout,
        )

    @property
    def history(self) -> History:
        """The archive as a history, in layout 2."""
        return History(storage=self.storage, folder=self.folder)

    def files(self) -> tuple[ArchiveFile, ...]:
        """The files as they are now, the newest first; opens none of them.

        Raises:
            CorruptTableError: a file that should be there is not.
        """
        if self.layout is TimelineLayout.TWO:
            numbered = enumerate(self.history.files())
            return tuple(ArchiveFile(number=at, status=each) for at, each in numbered)[::-1]
        found = (
            ArchiveFile(number=int(named.group(1)), status=status)
            for status in self.storage.list(self.folder)
            if not status.is_dir and (named := _FILE.fullmatch(status.name)) is not None
        )
        return tuple(sorted(found, key=lambda file: -file.number))

    def read(self, file: ArchiveFile) -> Iterator[ArchivedFile]:
        """The records of an archive file, in the order in which they were written.

        None when the file is gone, in layout 1: the one that it was merged into has them.

        Raises:
            CorruptTableError: a block that cannot be read; the message names it.
            MissingFileError: the file is gone, in layout 2.
        """
        if self.layout is TimelineLayout.TWO:
            names = (TIME, ACTION, COMPLETION_TIME, METADATA)
            with located(self.storage.absolute(file.status.path)):
                for row in self.history.rows(file.status, names).to_pylist():
                    time, action, completed, body = (row[name] for name in names)
                    yield ArchivedFile.from_history(time, action, completed, body or b"")
            return
        try:
            with self.storage.open_input(file.status.path) as source:
                for schema, record in iter_archive(source, file.status.path):
                    yield ArchivedFile.from_record(record, schema)
        except MissingFileError:
            return

    def mentions(self, file: ArchiveFile, text: str) -> bool:
        """Whether an archive file has a text in it, which is quicker told than what it says."""
        if self.layout is TimelineLayout.TWO:
            rows = self.history.rows(file.status, (TIME, METADATA))
            said = pc.match_substring(rows.column(METADATA), text)
            return bool(pc.any(pc.or_kleene(said, pc.equal(rows.column(TIME), text))).as_py())
        try:
            return text.encode() in self.storage.read(file.status.path)
        except MissingFileError:
            return False

    def writes_since(self, time: str) -> frozenset[str]:
        """The times of the archived writes from an instant on.

        Opens only files that were made after it. Some of these writes may be on the timeline
        still, which they are about to leave.
        """
        if self.layout is TimelineLayout.TWO:
            return frozenset(self.completions_since(time))
        found: set[str] = set()
        for file in self.files():
            # In autumn local times come twice, and the clocks of machines differ.
            if instant_time(file.status.modified_ms + _SLACK_MS, self.zone) < time:
                continue
            for record in self.read(file):
                instant = instant_of(record)
                is_write = instant is not None and instant.action.writes_rows
                if is_write and record.state == State.COMPLETED.name and record.time >= time:
                    found.add(record.time)
        return frozenset(found)

    def completions_since(self, time: str) -> dict[str, str]:
        """When the archived writes were completed that were requested from a time on, in layout 2.

        Raises:
            CorruptTableError: a file of the archive cannot be read.
            MissingFileError: instants were archived while it was read.
        """
        writes = pa.array([each.value for each in Action if each.writes_rows])
        found: dict[str, str] = {}
        for file in self.files():
            rows = self.history.rows(file.status, (TIME, COMPLETION_TIME, ACTION), time)
            kept = rows.filter(pc.is_in(rows.column(ACTION), value_set=writes))
            times, completed = kept.column(TIME), kept.column(COMPLETION_TIME)
            # Whoever noted no completion time had none.
            done = pc.coalesce(completed, times).to_pylist()
            found.update(zip(times.to_pylist(), done, strict=True))
        return found

    def load(self) -> Timeline:
        """All archived instants, each in its latest state.

        Raises:
            CorruptTableError: a block that cannot be read.
        """
        found = (instant_of(each) for file in self.files() for each in self.read(file))
        return Timeline.of(instant for instant in found if instant is not None)

    def create(self, number: int, files: Sequence[ArchivedFile], batch: int) -> int:
        """Make the archive file of a number, with so many records in a block; its bytes.

        Raises:
            AlreadyExistsError: another archiver has made it.
        """
        path = f"{self.folder}/.commits_.archive.{number}_1-0-1"
        with located(path):
            data = encode_archive([file.to_record() for file in files], archive_schema(), batch)
        self.storage.create(path, data)
        return len(data)


def written_by(file: ArchivedFile) -> ReplaceCommitMetadata | None:
    """What a completed write wrote and replaced, as its own file said; None for anything else.

    The archive drops the names of the log files in statistics: that of their path is put back.
    """
    found = file.commit
    if found is None:
        return None
    stats = {
        partition: tuple(_with_logs(stat) for stat in own)
        for partition, own in found.commit.partition_to_write_stats.items()
    }
    return replace(found, commit=replace(found.commit, partition_to_write_stats=stats))


def _with_logs(stat: WriteStat) -> WriteStat:
    name = (stat.path or "").rpartition("/")[2]
    return stat if parse_log_file_name(name) is None else replace(stat, log_files=(name,))


def instant_of(file: ArchivedFile) -> Instant | None:
    """The instant in the state that a record is of; None for an action that is not known here."""
    action, state = _ACTIONS.get(file.action), _STATES.get(file.state)
    if action is None or state is None:
        return None
    return Instant(time=file.time, action=action, state=state)
