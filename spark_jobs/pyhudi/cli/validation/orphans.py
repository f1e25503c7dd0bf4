"""Files that no completed write names, and folders that readers do not see."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from pyhudi.cli.validation.expected import slice_of
from pyhudi.cli.validation.findings import Finding, Grade
from pyhudi.cli.validation.seen import folder_of
from pyhudi.config import properties
from pyhudi.errors import CorruptTableError
from pyhudi.filegroup.names import PARTITION_METADATA_PREFIX, parse_log_file_name
from pyhudi.fileslice.opener import read_errors
from pyhudi.logfile.framing import BlockKind
from pyhudi.logfile.reader import iter_blocks
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.timeline.timeline import Timeline

_HIDDEN = (".", "_")
_ROWS = (BlockKind.AVRO, BlockKind.DELETE, BlockKind.HFILE, BlockKind.PARQUET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owners:
    """By what the owner of a file is told.

    ``named`` are the paths that completed writes name, ``listed`` the instants of these writes,
    ``pending`` those of writes that have not completed, ``planned`` those of whatever has not,
    ``archived`` those of which the archive was read; ``is_committed`` says of an instant whether
    its files belong to the table.
    """

    storage: Storage
    named: Collection[str]
    listed: frozenset[str]
    pending: Collection[str]
    planned: Collection[str]
    archived: frozenset[str]
    is_committed: Callable[[str], bool]

    @classmethod
    def of(
        cls,
        storage: Storage,
        timeline: Timeline,
        named: Collection[str],
        archived: frozenset[str],
    ) -> Owners:
        """The owners of the files of a table."""
        writes, unfinished = timeline.write_instants(), timeline.pending()
        return cls(
            storage=storage,
            named=named,
            listed=frozenset((*archived, *(each.time for each in writes.completed()))),
            pending=frozenset(each.time for each in writes.pending()),
            planned=frozenset(each.time for each in unfinished),
            archived=archived,
            is_committed=_committed_test(timeline, archived),
        )

    def findings(self, files: Iterable[FileStatus]) -> Iterator[Finding]:
        """What there is to say of the files that no completed write names."""
        unfinished: Counter[str] = Counter()
        for file in files:
            if file.path in self.named:
                continue
            found = slice_of(file.path)
            if found is None:
                yield from _foreign(file)
                continue
            writes = self._writes_of(file, found[1])
            at_work = next((each for each in writes if each in self.pending), None)
            if at_work is not None:
                unfinished[at_work] += 1
            elif (why := self._why_orphan(file.name, found[1], writes)) is not None:
                yield Finding(grade=Grade.ORPHAN, what="orphan", where=file.path, detail=why)
        for instant, count in sorted(unfinished.items()):
            yield Finding(
                grade=Grade.NOTE,
                what="unfinished write",
                where=instant,
                detail=f"{count} files are of this write, which has not completed; it works still, "
                "or the next writer undoes it",
            )

    def _why_orphan(self, name: str, instant: str, writes: Collection[str]) -> str | None:
        """Why a file of a slice that these writes made or appended to is nobody's.

        Blocks that take others back are named by no write, and belong where they are. The archive
        has no names of files of change data.
        """
        if not self.is_committed(instant) and instant not in self.planned:
            return f"its write {instant} is not on the timeline"
        log = parse_log_file_name(name)
        telling = self.listed - self.archived if log is not None and log.is_cdc else self.listed
        by = next((each for each in writes if each in telling), None)
        return None if by is None else f"the commit {by} does not name it"

    def _writes_of(self, file: FileStatus, instant: str) -> list[str]:
        """The writes that made a file, or whose rows and deletes a log file has."""
        log = parse_log_file_name(file.name)
        if log is None or log.is_cdc:
            return [instant]
        try:
            with read_errors(self.storage, file.path), self.storage.open_input(file.path) as source:
                blocks = list(iter_blocks(source, file.path))
        except CorruptTableError:
            return []
        return [each.instant for each in blocks if each.kind in _ROWS]


def _committed_test(timeline: Timeline, archived: Collection[str]) -> Callable[[str], bool]:
    """Whether a write belongs to the table; the archive tells it of what is not older than it."""
    is_committed = timeline.committed_test()
    start, first = timeline.start, min(archived, default=timeline.start)
    return lambda time: time in archived if first <= time < start else is_committed(time)


def _foreign(file: FileStatus) -> Iterator[Finding]:
    if not file.name.startswith(_HIDDEN):
        yield Finding(
            grade=Grade.NOTE,
            what="foreign file",
            where=file.path,
            detail="its name is none that Hudi gives to data files; readers leave it alone",
        )


def partition_findings(storage: Storage, files: Iterable[FileStatus]) -> Iterator[Finding]:
    """What is wrong with the metadata files by which readers know the folders of partitions."""
    markers: dict[str, FileStatus] = {}
    data: dict[str, int] = defaultdict(int)
    for file in files:
        folder = folder_of(file.path)
        if file.name.startswith(PARTITION_METADATA_PREFIX):
            markers[folder] = file
        elif slice_of(file.path) is not None:
            data[folder] += 1
    for folder, count in sorted(data.items()):
        if folder not in markers:
            yield _error(
                folder,
                f"{count} data files lie here, and no {PARTITION_METADATA_PREFIX}: readers that "
                "list folders do not see them",
            )
    for folder, marker in sorted(markers.items()):
        if marker.name == PARTITION_METADATA_PREFIX:
            yield from _marker_findings(storage, folder, marker)


def _marker_findings(storage: Storage, folder: str, marker: FileStatus) -> Iterator[Finding]:
    """Source: HoodiePartitionMetadata, Hudi 0.15."""
    said = properties.parse(storage.read(marker.path).decode("latin-1"))
    depth = len(folder.split("/")) if folder else 0
    if "commitTime" not in said or not said.get("partitionDepth", "").isdigit():
        yield _error(folder, f"{marker.name} does not say commitTime and partitionDepth")
    elif int(said["partitionDepth"]) != depth:
        yield _error(
            folder,
            f"{marker.name} says partitionDepth={said['partitionDepth']}, and the folder lies "
            f"{depth} levels deep",
        )


def _error(folder: str, detail: str) -> Finding:
    where = folder or "the table's folder"
    return Finding(grade=Grade.ERROR, what="partition metadata", where=where, detail=detail)
