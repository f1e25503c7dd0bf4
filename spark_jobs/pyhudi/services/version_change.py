"""Change the version of a table, up and down between 6, 8 and 9.

::

    dead writes undone ── metadata table off ── timeline and archive copied ── slices compared
                   ── properties replaced ── what came meanwhile copied, old ones gone

The properties are the commit point: before it the copies are seen by nobody, and the next try makes
them anew; after it the old timeline and archive are what nobody sees, and the next try deletes
them. No other writer begins meanwhile. Between 8 and 9 the properties are all that changes.

Log files are named otherwise in 6 than in 8 and 9, and their blocks have what only some versions
read. So a merge-on-read table is to be compacted whole before, in its old version.

Source: UpgradeDowngrade, Hudi 1.0 and 1.1, which moves the files one by one, and where it dies
midway leaves a table that neither version reads whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from pyhudi.actions.archived import ArchivedFile
from pyhudi.actions.history_row import HistoryRow
from pyhudi.actions.version_bodies import archived_of, history_of
from pyhudi.config.options.clean import VERSIONS_RETAINED, CleanPolicy
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.version_change import changed_config
from pyhudi.config.versions import TableVersion, TimelineLayout
from pyhudi.errors import ConflictError, InvariantError, UnsupportedError, WriterAtWorkError
from pyhudi.filegroup.slices import GroupId
from pyhudi.services.recovery import recover
from pyhudi.storage.storage import Storage
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.create import why_not_written
from pyhudi.table.history import ACTION, COMPLETION_TIME, METADATA, PLAN, TIME
from pyhudi.table.history_writing import append, base_of
from pyhudi.table.metadata_table import disable
from pyhudi.table.properties_file import replace_properties
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline, StateFile
from pyhudi.timeline.instant import Action
from pyhudi.timeline.moved import copy_instants, ended_before, remove_instants
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.spans import nobody_writing

_COMPACTIONS: Final = (Action.COMPACTION, Action.LOG_COMPACTION)
_RECORDS: Final = 500
_TRIES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChange:
    """What is to be done to a table: its configuration now, and afterwards."""

    before: TableConfig
    after: TableConfig

    @property
    def moves(self) -> bool:
        """Whether timeline and archive lie elsewhere afterwards."""
        return self.before.version.timeline_layout is not self.after.version.timeline_layout


def plan_change(table: Table, to: TableVersion) -> VersionChange:
    """What changes the version of a table; nothing is changed yet.

    Raises:
        UnsupportedError: the table is none that is written here in both versions.
    """
    config = table.config
    after = changed_config(config, to)
    reasons = (
        "was bootstrapped" if config.bootstrap_base_path is not None else None,
        "has no writes" if table.timeline.last_completed is None else None,
        why_not_written(config),
        why_not_written(after),
    )
    reason = next((each for each in reasons if each is not None), None)
    if reason is not None:
        raise UnsupportedError(
            f"the table {config.name} {reason}, and its version is not changed here; let Hudi do "
            "that",
            where=table.storage.uri,
        )
    return VersionChange(before=config, after=after)


def change_version(writer: Writer, change: VersionChange) -> None:
    """Give a table another version.

    Raises:
        ConflictError: others are at work, or wrote in between; nothing was changed.
        UnsupportedError: log files are there that cannot be compacted, or, down to version 6, that
            are of earlier slices; nothing was changed.
        CorruptTableError: an instant, or what is archived, cannot be read.
        StorageError: the storage failed; the next try goes on from there.
    """
    storage = writer.storage
    recover(writer)
    with nobody_writing(writer) as own:
        table = writer.table.refresh()
        if table.config.raw != change.before.raw:
            raise ConflictError("another job changes the table; retry", where=storage.uri)
        _check_log_files(table, change.after.version)
        before = disable(storage, change.before)
        after = changed_config(before, change.after.version)
        old, new = ActiveTimeline.of(storage, before), ActiveTimeline.of(storage, after)
        copied, following = list[StateFile](), _following(table)
        if change.moves:
            copied = _copy(storage, before, after, own, following)
            _check_same_slices(table, replace(table, config=after, timeline=new.load()))
        replace_properties(storage, after.raw)
        if change.moves:
            # A savepoint needs nobody to stop for it. Whoever makes one later finds out.
            copy_instants(old, new, _but(old, own, copied), following)
            sweep_other_layout(storage, after, own)


def _check_log_files(table: Table, to: TableVersion) -> None:
    """Refuse to change the version of a table while it has log files that matter.

    Raises:
        WriterAtWorkError: there are some that nobody had compacted, or plans to.
        UnsupportedError: some cannot be compacted, or are left of slices that were.
    """
    if table.config.table_type is not TableType.MERGE_ON_READ:
        return
    timeline, where = table.timeline, table.storage.uri
    plans = [each for each in timeline.pending() if each.action in _COMPACTIONS]
    slices = [each for each in table.latest_slices() if each.log_files]
    clustered = table.clustered_groups()
    for each in slices:
        if (each.partition, each.file_id) in clustered:
            raise UnsupportedError(
                f"file group {each.file_id} has log files, and a clustering is planned on it, so "
                "that it is not compacted; let Hudi run the clustering or take it back",
                where=where,
            )
    if plans or slices:
        raise WriterAtWorkError(
            f"{len(slices)} file slices have log files again, and {len(plans)} compactions are "
            "planned; retry, which compacts them",
            where=where,
        )
    logs = table.listing.files().log_files if to is TableVersion.SIX else ()
    if logs:
        raise UnsupportedError(
            f"{len(logs)} log files are left of slices that have been compacted, the first is "
            f"{logs[0].path}; version 6 would take each for a slice of its own. Delete them with "
            f"`pyhudi clean TABLE --policy {CleanPolicy.VERSIONS.value} --hoodie-conf "
            f"{VERSIONS_RETAINED.key}=1`, and savepoints that keep some, and retry",
            where=where,
        )


def _check_same_slices(before: Table, after: Table) -> None:
    """Refuse a copy by which the table would have other files.

    Raises:
        InvariantError: it would.
    """
    old, new = (replace(each, skips_damaged=True).latest_slices() for each in (before, after))
    if differing := set(old) ^ set(new):
        found = min(f"{each.partition}/{each.file_id}" for each in differing)
        raise InvariantError(
            f"{before.storage.uri} would have other files in version "
            f"{after.config.version.value}, of file group {found} among others; nothing was changed"
        )


def _following(table: Table) -> Mapping[str, str]:
    """For the instants that log files of version 6 name, the first slice that follows theirs."""
    found: dict[str, str] = {}
    is_logged = table.config.table_type is TableType.MERGE_ON_READ
    if not is_logged or table.config.version is not TableVersion.SIX:
        return found
    files = table.listing.files()
    begun: dict[GroupId, set[str]] = defaultdict(set)
    for base in files.base_files:
        begun[base.partition, base.file_id].add(base.instant)
    for log in files.log_files:
        begun[log.partition, log.name.file_id].add(log.name.base_instant)
    for log in files.log_files:
        own = log.name.base_instant
        later = [each for each in begun[log.partition, log.name.file_id] if each > own]
        if later:
            found[own] = min(found.get(own, later[0]), *later)
    return found


def sweep_other_layout(storage: Storage, config: TableConfig, own: str = "") -> None:
    """Delete what is left of the other layout, but the instant that keeps others out."""
    is_first = config.version.timeline_layout is TimelineLayout.ONE
    other = _other(config, TimelineLayout.TWO if is_first else TimelineLayout.ONE)
    active = ActiveTimeline.of(storage, other)
    remove_instants(active, own)
    if not is_first:
        storage.delete_dir(other.archive_path)
    elif not own:
        storage.delete_dir(f".hoodie/{other.timeline_folder}")
    else:
        storage.delete_dir(f".hoodie/{other.timeline_folder}/{other.archive_folder}")


def _other(config: TableConfig, layout: TimelineLayout) -> TableConfig:
    version = TableVersion.SIX if layout is TimelineLayout.ONE else TableVersion.EIGHT
    return changed_config(config, version)


def _copy(
    storage: Storage,
    before: TableConfig,
    after: TableConfig,
    own: str,
    following: Mapping[str, str],
) -> list[StateFile]:
    """Copy timeline and archive until nothing has come in between; the files that were copied.

    Raises:
        ConflictError: something comes whenever it is looked.
    """
    old, new = ActiveTimeline.of(storage, before), ActiveTimeline.of(storage, after)
    for _ in range(_TRIES):
        sweep_other_layout(storage, before)
        files = list(_but(old, own, ()))
        archived = [file.status.path for file in ArchivedTimeline.of(storage, before).files()]
        _copy_archive(storage, before, after, following)
        copy_instants(old, new, files, following)
        later = [file.status.path for file in ArchivedTimeline.of(storage, before).files()]
        if archived == later and not list(_but(old, own, files)):
            return files
    raise ConflictError(
        "others change the timeline meanwhile; retry when they have ended", where=storage.uri
    )


def _but(active: ActiveTimeline, own: str, known: Iterable[StateFile]) -> Iterator[StateFile]:
    seen = {file.instant for file in known}
    for file in active.state_files():
        if file.instant.time != own and file.instant not in seen:
            yield file


def _copy_archive(
    storage: Storage, before: TableConfig, after: TableConfig, following: Mapping[str, str]
) -> None:
    old, new = ArchivedTimeline.of(storage, before), ArchivedTimeline.of(storage, after)
    if new.layout is TimelineLayout.TWO:
        rows, base = _once(old, following), base_of(new.history)
        while part := list(islice(rows, _RECORDS)):
            base = append(new.history, base, sorted(part, key=lambda row: row.identity))
        return
    records, number = _records(old), 0
    while found := list(islice(records, _RECORDS)):
        number += 1
        new.create(number, found, _RECORDS)


def _once(old: ArchivedTimeline, following: Mapping[str, str]) -> Iterator[HistoryRow]:
    """The archived instants of layout 1, the oldest file first."""
    seen: set[tuple[str, str]] = set()
    for file in reversed(old.files()):
        for row in history_of(old.read(file)):
            if row.identity not in seen:
                seen.add(row.identity)
                ended = ended_before(row.completion_time or row.time, row.time, following)
                yield replace(row, completion_time=ended)


def _records(old: ArchivedTimeline) -> Iterator[ArchivedFile]:
    seen: set[tuple[str, str]] = set()
    for file in reversed(old.files()):
        columns = (TIME, COMPLETION_TIME, ACTION, METADATA, PLAN)
        for found in old.history.rows(file.status, columns).to_pylist():
            time, ended, action, metadata, plan = (found.get(name) for name in columns)
            row = HistoryRow(
                time=time, completion_time=ended, action=action, metadata=metadata, plan=plan
            )
            if row.identity not in seen:
                seen.add(row.identity)
                yield archived_of(row)
