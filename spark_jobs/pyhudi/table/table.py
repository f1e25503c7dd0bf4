"""One table as it was when it was opened. Read-only."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

import pyarrow as pa

from pyhudi.config.table import TableConfig
from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.filegroup.listing import StorageListing
from pyhudi.filegroup.order import slice_order
from pyhudi.filegroup.slices import BaseFile, FileSlice, GroupId
from pyhudi.schema.arrow import avro_to_arrow
from pyhudi.schema.avro import AvroSchema
from pyhudi.schema.metafields import with_meta
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.table.files import TableFiles
from pyhudi.table.pending import clustered_groups, pending_compactions
from pyhudi.table.properties_file import load_config
from pyhudi.table.schema import resolve_schema
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action, normalise_instant
from pyhudi.timeline.timeline import Timeline

_MAKING_WAITS_S = (0.1, 0.3, 0.6, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table's configuration and timeline, and through them its schema and files.

    Configuration and timeline stay as they were; ``refresh`` gives the table with later commits.
    Instants that are asked for may be written as those of ``read_table``.
    """

    storage: Storage
    config: TableConfig
    timeline: Timeline

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
        return load_table(self.storage)

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

    def files(self, partitions: Iterable[str] | None = None) -> TableFiles:
        """The files of all partitions or some, listed once."""
        found = self.listing.files(partitions)
        return TableFiles(
            timeline=self.timeline,
            order=slice_order(self.config.version),
            base_files=found.base_files,
            log_files=found.log_files,
            cdc_files=found.cdc_files,
            replaced=self._replaced() if found.base_files or found.log_files else {},
        )

    def latest_base_files(
        self, partitions: Iterable[str] | None = None, as_of: str | date | None = None
    ) -> tuple[BaseFile, ...]:
        """The base files that hold the rows, of all partitions or some, now or as of an instant.

        Shapes: ordered by partition and file id.
        """
        return self.files(partitions).latest_base_files(self._digits(as_of))

    def latest_slices(
        self, partitions: Iterable[str] | None = None, as_of: str | date | None = None
    ) -> tuple[FileSlice, ...]:
        """The base files that hold the rows with the log files that change them.

        Shapes: as ``latest_base_files``; a slice may have no base file.
        """
        return self.files(partitions).latest_slices(self._digits(as_of))

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
        return resolve_schema(
            self.active, self.config, timeline, lambda: self.files().newest_base_file(as_of)
        )

    def _replaced(self) -> dict[GroupId, str]:
        """The file groups that completed replacecommits hide, with the instants that did it."""
        found: dict[GroupId, str] = {}
        for instant in self.timeline.completed():
            if instant.action is Action.REPLACE_COMMIT:
                try:
                    metadata = self.active.read_replace_commit(instant)
                except MissingFileError:
                    # Archived since the timeline was listed, so the files were deleted before.
                    continue
                for partition, file_ids in metadata.partition_to_replaced_file_ids.items():
                    for file_id in file_ids:
                        found.setdefault((partition, file_id), instant.time)
        return found


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
