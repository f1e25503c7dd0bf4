"""What the archive says of a log file, asked where bytes of the file cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyhudi.actions.commit import WriteStat
from pyhudi.config.table import TableConfig, TimelineZone
from pyhudi.config.versions import TimelineLayout
from pyhudi.filegroup.slices import LogWrite
from pyhudi.storage.storage import Storage
from pyhudi.table.archived import ArchivedTimeline, written_by
from pyhudi.timeline.instant import State


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedLogs:
    """The archived writes to a log file of a table: goes to tasks with what tells how to read.

    Readers hold files against the writes on the active timeline. In a table that is not compacted
    log files outlive the instants that wrote them; whether bytes that make no block are of a write
    that died, or rows that were committed, the archive alone can say.
    """

    folder: str
    zone: TimelineZone
    layout: TimelineLayout

    @classmethod
    def of(cls, config: TableConfig) -> ArchivedLogs:
        """The archive of a table."""
        return cls(
            folder=config.archive_path,
            zone=config.timezone,
            layout=config.version.timeline_layout,
        )

    def __call__(self, storage: Storage, path: str) -> tuple[LogWrite, ...]:
        """The completed writes that made the log file at a path, or appended to it.

        Raises:
            CorruptTableError: a file of the archive cannot be read.
            StorageError: it cannot be reached.
        """
        archive = ArchivedTimeline(
            storage=storage, folder=self.folder, zone=self.zone, layout=self.layout
        )
        name = path.rpartition("/")[2]
        found = {
            write
            for file in archive.files()
            if archive.mentions(file, name)
            for record in archive.read(file)
            if record.state == State.COMPLETED.name and (written := written_by(record)) is not None
            for write in _writes_to(path, record.time, written.commit.write_stats)
        }
        return tuple(sorted(found, key=lambda write: (write.begin, write.instant)))


def _writes_to(path: str, instant: str, stats: Iterable[WriteStat]) -> Iterator[LogWrite]:
    for stat in stats:
        if stat.path == path:
            # The archive of layout 1 does not say where a write begins, but where it ends.
            begin = stat.log_offset or max(0, stat.file_size_bytes - stat.total_write_bytes)
            yield LogWrite(instant=instant, begin=begin, end=begin + stat.total_write_bytes)
