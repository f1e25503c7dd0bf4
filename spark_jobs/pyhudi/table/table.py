"""One table as it was when it was opened. Read-only."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date

import pyarrow as pa

from pyhudi.config.table import TableConfig
from pyhudi.config.versions import TimelineLayout
from pyhudi.errors import CorruptTableError
from pyhudi.filegroup.listing import ListedFiles, StorageListing
from pyhudi.filegroup.order import earliest_unplaced, slice_order
from pyhudi.filegroup.promised import Damage, Promise
from pyhudi.filegroup.slices import BaseFile, FileSlice, GroupId
from pyhudi.fileslice.span import CommitSpan
from pyhudi.schema.arrow import avro_to_arrow
from pyhudi.schema.avro import AvroSchema
from pyhudi.schema.metafields import with_meta
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.files import TableFiles
from pyhudi.table.pending import clustered_groups, pending_compactions
from pyhudi.table.promised import are_rolled_back, refuse, told_by
from pyhudi.table.properties_file import load_config
from pyhudi.table.row_sources import with_sources
from pyhudi.table.savepoints import as_restored
from pyhudi.table.schema import resolve_schema
from pyhudi.timeline.active import ActiveTimeline, Seen
from pyhudi.timeline.bootstrap import as_bootstrapped
from pyhudi.timeline.instant import Instant, normalise_instant
from pyhudi.timeline.timeline import Timeline

_MAKING_WAITS_S = (0.1, 0.3, 0.6, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table's configuration and timeline, and through them its schema and files.

    Configuration and timeline stay as they were; ``refresh`` gives the table with later commits.
    Instants that are asked for may be written as those of ``read_table``. Its files are held
    against what its commits say of them, unless it ``skips_damaged``. With ``until`` it is as it
    was then, going by when writes were completed.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline
    skips_damaged: bool = False
    until: str | None = None

    @property
    def active(self) -> ActiveTimeline:
        """The timeline on storage, which says what its instants' files say."""
        return ActiveTimeline.of(self.storage, self.config)

    @property
    def listing(self) -> StorageListing:
        """The partitions and data files as they are now, whether they count or not."""
        return StorageListing(self.storage)

    def refresh(self) -> Table:
        """The same table as it is now: properties and timeline read again."""
        return self.seen_as(self.active.look())

    def seen_as(self, seen: Seen) -> Table:
        """The same table by a listing of now, which may tell that its properties are the same."""
        latest = None
        if load_config(self.storage, seen.tags) == self.config:
            latest = _seen(self.storage, self.config, seen.timeline)
        # A timeline of another version or folder has to be listed as such.
        latest = replace(latest or load_table(self.storage), skips_damaged=self.skips_damaged)
        return latest if self.until is None else latest.completed_by(self.until)

    def completed_by(self, time: str) -> Table:
        """The table as it was then, going by when its writes were completed.

        Not: in layout 1, whose timeline does not tell when that was.
        """
        return replace(self, timeline=self.timeline.completed_by(time), until=time)

    def schema(self, as_of: str | date | None = None) -> pa.Schema:
        """The five meta columns and the table's own, now or as of an instant.

        A table that was never written and made without a schema has the meta columns alone.
        """
        own = self.avro_schema(as_of)
        return with_meta(pa.schema([]) if own is None else avro_to_arrow(own))

    def avro_schema(self, as_of: str | date | None = None) -> AvroSchema | None:
        """The table's own columns in Avro, without meta columns; None when there are none yet.

        As of an instant before every schema, the present one.
        """
        digits = self._digits(as_of)
        if digits is not None:
            found = self._resolve(self.timeline.up_to(digits), digits)
            if found is not None:
                return found
        return self._resolve(self.timeline, None)

    def partitions(self) -> tuple[str, ...]:
        """The partition paths, sorted; ``""`` alone for a table without partitions."""
        return self.listing.partitions()

    def files(
        self,
        partitions: Iterable[str] | None = None,
        *,
        is_kept: Callable[[str], bool] | None = None,
        as_of: str | date | None = None,
        span: CommitSpan | None = None,
        with_logs: bool = True,
    ) -> TableFiles:
        """The files of all partitions or some, listed once and held against the commits.

        Partitions are named, or those that ``is_kept`` keeps. What was written after ``as_of``, or
        not within the ``span``, does not matter, nor do log files where they are not read.

        Raises:
            CorruptTableError: a file is gone or cut short that a commit says was there.
            MissingFileError: it is gone, and the table has changed since it was opened, or is
                about to.
        """
        until = self._digits(as_of)

        def is_asked(instant: Instant) -> bool:
            is_other = span is not None and not span.holds(instant.time)
            is_late = until is not None and instant.time > until
            return not (self.skips_damaged or is_other or is_late)

        found, promises = self._listed(partitions, is_kept, is_asked)
        read = [each for each in promises if with_logs or not each.is_log]
        if lost := found.damages(read, until):
            latest = self.refresh().timeline
            refuse(
                lost,
                where=self.storage.uri,
                has_changed=latest != self.timeline or are_rolled_back(self.active, latest, lost),
            )
        return found.with_writes(read)

    def damages(self, partitions: Iterable[str] | None = None) -> list[Damage]:
        """The files that are gone or cut short, of all partitions or some; ordered by path.

        Not: what lies within a log file, see ``fileslice.logs.log_problems``.
        """
        found, promises = self._listed(partitions, None, lambda _: True)
        return found.damages(promises)

    def latest_base_files(
        self, partitions: Iterable[str] | None = None, as_of: str | date | None = None
    ) -> tuple[BaseFile, ...]:
        """The base files that hold the rows, of all partitions or some, now or as of an instant.

        Shapes: ordered by partition and file id.
        """
        found = self.files(partitions, as_of=as_of, with_logs=False)
        return found.latest_base_files(self._digits(as_of))

    def latest_slices(
        self, partitions: Iterable[str] | None = None, as_of: str | date | None = None
    ) -> tuple[FileSlice, ...]:
        """The base files that hold the rows with the log files that change them.

        Shapes: as ``latest_base_files``; a slice may have no base file.
        """
        return self.files(partitions, as_of=as_of).latest_slices(self._digits(as_of))

    def pending_compactions(self) -> Mapping[GroupId, str]:
        """The instant of the pending compaction of each file group that is in one."""
        return pending_compactions(self.active, self.timeline)

    def clustered_groups(self) -> frozenset[GroupId]:
        """The file groups under a pending clustering: to be left as they are until it has ended."""
        return clustered_groups(self.active, self.timeline)

    def completion_time(self, time: str) -> str | None:
        """When the write requested at a time was completed, in digits; None when it was not."""
        for instant in self.timeline.write_instants().completed():
            if instant.time == time:
                return self.active.completion_time(instant)
        return None

    def _digits(self, as_of: str | date | None) -> str | None:
        return None if as_of is None else normalise_instant(as_of, self.config.timezone)

    def _resolve(self, timeline: Timeline, as_of: str | None) -> AvroSchema | None:
        def newest_file() -> BaseFile | None:
            found, _ = self._listed(None, None, lambda _: False)
            return found.newest_base_file(as_of)

        return resolve_schema(self.active, self.config, timeline, newest_file)

    def _listed(
        self,
        partitions: Iterable[str] | None,
        is_kept: Callable[[str], bool] | None,
        is_asked: Callable[[Instant], bool],
    ) -> tuple[TableFiles, tuple[Promise, ...]]:
        """The files of some partitions, and what the instants asked for say of them."""
        if partitions is not None:
            partitions = frozenset(partitions)
            is_kept = partitions.__contains__
        found = self.listing.files(partitions, is_kept=is_kept)
        told = told_by(
            self.active,
            Timeline() if partitions == frozenset() else self.timeline,
            is_asked=is_asked,
            is_kept=is_kept or (lambda _: True),
        )
        files = TableFiles(
            timeline=self.timeline,
            order=slice_order(self.config.version, self._completions(found)),
            base_files=with_sources(self.storage, self.config, found.base_files),
            log_files=found.log_files,
            cdc_files=found.cdc_files,
            replaced=told.replaced,
        )
        return files, told.promises

    def _completions(self, found: ListedFiles) -> Mapping[str, str]:
        """When writes were completed; archived ones too, where log files are placed by it."""
        known = self.timeline.completions()
        if self.config.version.timeline_layout is TimelineLayout.ONE:
            return known
        earliest = earliest_unplaced(found.base_files, found.log_files, known)
        if earliest is None or earliest >= self.timeline.start:
            return known
        archived = ArchivedTimeline.of(self.storage, self.config)
        return {**archived.completions_since(earliest), **known}


def open_table(
    path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None
) -> Table:
    """The table at a path or URI.

    Raises:
        TableNotFoundError: there is none.
        CorruptTableError: its properties break the format.
        UnsupportedError: a format version that is not known.
    """
    return load_table(open_storage(os.fspath(path), storage_options))


def load_table(storage: Storage) -> Table:
    """The table in a storage, as it is now.

    Raises:
        TableNotFoundError: there is none.
    """
    config = load_config(storage)
    timeline = ActiveTimeline.of(storage, config).load()
    if not timeline.instants and (again := load_config(storage)) != config:
        # The table was given another version in this moment, and with it another timeline.
        config, timeline = again, ActiveTimeline.of(storage, again).load()
    return _seen(storage, config, timeline)


def _seen(storage: Storage, config: TableConfig, listed: Timeline) -> Table:
    active = ActiveTimeline.of(storage, config)
    timeline = as_restored(active, as_bootstrapped(listed))
    return Table(storage=storage, config=config, timeline=timeline)


def load_made(storage: Storage) -> Table:
    """The table in a storage, which another process may be making at this moment.

    Hudi writes the properties of a new table where readers see them half; those that are so still
    after a while are broken.

    Raises:
        TableNotFoundError: there is none.
        CorruptTableError: its properties break the format, and stay so.
    """
    for wait_s in _MAKING_WAITS_S:
        try:
            return load_table(storage)
        except CorruptTableError:  # noqa: PERF203 - it waits between two tries
            time.sleep(wait_s)
    return load_table(storage)
