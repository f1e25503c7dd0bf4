"""The archived timeline of layout 1: what left the timeline, and what its files said.

An archive file has the instants of one run of archiving, the newest the highest number.

Source: HoodieArchivedTimeline and HoodieTimelineArchiver, Hudi 0.15; ArchivedTimelineV1, Hudi 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyhudi.actions.archived import ArchivedFile, archive_schema
from pyhudi.actions.commit import ReplaceCommitMetadata, WriteStat
from pyhudi.config.table import TableConfig, TimelineZone
from pyhudi.errors import MissingFileError, located
from pyhudi.filegroup.names import parse_log_file_name
from pyhudi.logfile.archive import encode_archive, iter_archive
from pyhudi.storage.storage import FileStatus, Storage
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

    @classmethod
    def of(cls, storage: Storage, config: TableConfig) -> ArchivedTimeline:
        """The archive of the table in a storage."""
        folder = f".hoodie/{config.archive_folder}"
        return cls(storage=storage, folder=folder, zone=config.timezone)

    def files(self) -> tuple[ArchiveFile, ...]:
        """The files as they are now, the newest first; opens none."""
        found = (
            ArchiveFile(number=int(named.group(1)), status=status)
            for status in self.storage.list(self.folder)
            if not status.is_dir and (named := _FILE.fullmatch(status.name)) is not None
        )
        return tuple(sorted(found, key=lambda file: -file.number))

    def read(self, file: ArchiveFile) -> Iterator[ArchivedFile]:
        """The records of an archive file, in the order in which they were written.

        None when the file is gone: the one that it was merged into has them.

        Raises:
            CorruptTableError: a block that cannot be read; the message names it.
        """
        try:
            with self.storage.open_input(file.status.path) as source:
                for schema, record in iter_archive(source, file.status.path):
                    yield ArchivedFile.from_record(record, schema)
        except MissingFileError:
            return

    def mentions(self, file: ArchiveFile, text: str) -> bool:
        """Whether an archive file has a text in it, which is quicker told than what it says."""
        try:
            return text.encode() in self.storage.read(file.status.path)
        except MissingFileError:
            return False

    def writes_since(self, time: str) -> frozenset[str]:
        """The times of the archived writes from an instant on.

        Opens only files that were made after it. Some of these writes may be on the timeline
        still, which they are about to leave.
        """
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
