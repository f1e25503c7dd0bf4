"""A table held against its timeline, file by file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby, islice

from pyhudi.cli.history import newest_archived
from pyhudi.cli.validation.expected import NEWEST_ALONE, required_files
from pyhudi.cli.validation.findings import Finding, Grade
from pyhudi.cli.validation.keys import repeated_keys
from pyhudi.cli.validation.looks import Looked, Looks, key_reading
from pyhudi.cli.validation.orphans import Owners, partition_findings
from pyhudi.cli.validation.seen import SeenTimeline, in_window, see_files, see_timeline
from pyhudi.cli.writes import Told
from pyhudi.config.options.operations import Operation
from pyhudi.errors import CorruptTableError
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.checks import FileProblem, StatedFile, size_problem, stated_files
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.table.properties_file import BACKUP_FILE
from pyhudi.table.table import Table

Progress = Callable[[int, int], None]
"""Told how many files and slices have been looked into, and of how many."""

_MAY_REPEAT = (
    Operation.INSERT,
    Operation.BULK_INSERT,
    Operation.INSERT_OVERWRITE,
    Operation.INSERT_OVERWRITE_TABLE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was looked at, and what was found, the worst first.

    Units: bytes of all files; rows of the base files that hold the table now; ``keys`` were
    compared.
    """

    findings: tuple[Finding, ...]
    slices: int
    rows: int
    keys: int
    instants: int = 0
    files: int = 0
    size_bytes: int = 0

    def count(self, grade: Grade) -> int:
        """How many findings of a grade there are."""
        return sum(finding.grade is grade for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a validation looks at beside the files that the timeline names.

    That is record keys, which must come once where that is promised or wanted, and what the archive
    says of commits that have left the timeline.
    """

    compares_keys: bool = True
    wants_unique: bool = False
    reads_archive: bool = False


def validate_table(table: Table, scope: Scope, progress: Progress) -> Validation:
    """Hold what lies in a table's folders against what its timeline says.

    Instants, properties and the metadata of partitions are read; of each file that completed writes
    name it is asked whether it must be there, and of each that is, whether it has its size and is
    whole; of the rows, whether a record key comes once in its partition. That it does is promised
    where no write on the timeline may keep duplicates, or ``wants_unique`` says so.

    Guarantees: changes nothing; memory for keys is eight bytes a row of the largest partition.
    Not: what commits say that have been archived, unless the scope has the archive.
    """
    # Whatever a write has made by now is named by then, or the write is pending still.
    files = see_files(table.storage)
    table = replace(table.refresh(), skips_damaged=True)
    archived, unread = _archived(table) if scope.reads_archive else (None, ())
    timeline = see_timeline(table, archived)
    slices, unseen = _latest_slices(table)
    stated = stated_files(timeline.stats)
    sizes = {file.path: file.size_bytes for file in files} | _sizes_in(slices)
    keys, why_not = key_reading(table) if scope.compares_keys else (None, None)
    looks = Looks(table=table, stated=stated, sizes=sizes, keys=keys)
    older = sorted((stated.keys() & sizes.keys()).difference(*map(_paths, slices)))
    tell = _counted(progress, len(slices) + len(older))
    comparison = _Comparison(looks=looks, is_promised=scope.wants_unique or _is_promised(timeline))
    found = comparison.over(slices, tell)
    seen = [tell(each) for each in in_window(looks.into_file, older)]
    of_files = [
        *(_damage(*problem) for each in seen for problem in each.problems),
        *found.findings,
        *_missing(table.storage, timeline, stated, sizes),
    ]
    findings = [
        *of_files,
        *_unkept(table, {finding.where for finding in of_files}),
        *_of_properties(table),
        *timeline.findings,
        *unread,
        *_orphans(table, timeline, stated, files),
        *partition_findings(table.storage, files),
        *_left_undone("keys not compared", why_not),
        *_left_undone("slices not looked into", unseen),
    ]
    return replace(
        found,
        findings=tuple(sorted(findings, key=lambda finding: finding.rank)),
        instants=len(table.timeline) + len(archived or ()),
        files=len(files),
        size_bytes=sum(sizes.values()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """The record keys of a table's slices compared, partition by partition."""

    looks: Looks
    is_promised: bool

    def over(self, slices: Sequence[FileSlice], tell: Callable[[Looked], Looked]) -> Validation:
        """What is found within the slices, and how many rows and keys they have."""
        looked = (tell(each) for each in in_window(self.looks.into_slice, slices))
        by_partition = groupby(slices, key=lambda each: each.partition)
        findings: list[Finding] = []
        rows, keys = 0, 0
        for _, group in by_partition:
            own = list(group)
            seen = list(islice(looked, len(own)))
            findings += [_damage(*problem) for each in seen for problem in each.problems]
            findings += self._repeats(
                dict(zip((each.place for each in seen), own, strict=True)), seen
            )
            rows += sum(each.rows for each in seen)
            keys += sum(len(each.hashes) for each in seen if each.hashes is not None)
        return Validation(findings=tuple(findings), slices=len(slices), rows=rows, keys=keys)

    def _repeats(
        self, slices: Mapping[str, FileSlice], seen: Iterable[Looked]
    ) -> Iterator[Finding]:
        """What there is to say of keys that a partition holds more than once."""
        hashes = {each.place: each.hashes for each in seen if each.hashes is not None}
        found = repeated_keys(hashes, lambda place: self.looks.read_keys(slices[place]))
        if found is None:
            return
        partition = next(iter(slices.values())).partition
        shown, places = ", ".join(map(repr, found.examples)), ", ".join(found.places)
        detail = f"{found.count:,} keys come more than once, such as {shown}, the first in {places}"
        if not self.is_promised:
            detail += ". Inserts on the timeline may have kept duplicates, or commits are archived"
        yield Finding(
            grade=Grade.ERROR if self.is_promised else Grade.NOTE,
            what="repeated keys",
            where=partition or "the table",
            detail=detail,
        )


def _counted(progress: Progress, total: int) -> Callable[[Looked], Looked]:
    """Passes on what was looked at, and tells of it."""
    done = count(1)

    def tell(looked: Looked) -> Looked:
        progress(next(done), total)
        return looked

    return tell


def _paths(found: FileSlice) -> set[str]:
    logs = {log.path for log in found.log_files}
    return logs if found.base_file is None else {found.base_file.path, *logs}


def _damage(path: str, problem: FileProblem) -> Finding:
    return Finding(grade=Grade.ERROR, what=problem.damage, where=path, detail=problem.detail)


def _missing(
    storage: Storage,
    timeline: SeenTimeline,
    stated: Mapping[str, StatedFile],
    sizes: Mapping[str, int],
) -> Iterator[Finding]:
    """The files that must be there and are not, also when they are looked for once more."""
    for path in sorted(required_files(stated, timeline.retained) - sizes.keys()):
        problem = None if storage.exists(path) else size_problem(stated[path], None)
        if problem is not None:
            yield _damage(path, problem)


def _archived(table: Table) -> tuple[list[Told] | None, tuple[Finding, ...]]:
    """All instants of the archive; None, and the finding that says why, where it cannot be read."""
    try:
        return newest_archived(table, None, lambda _: True), ()
    except CorruptTableError as error:
        where = table.config.archive_path
        return None, (
            Finding(grade=Grade.ERROR, what="unreadable archive", where=where, detail=str(error)),
        )


def _unkept(table: Table, known: set[str]) -> Iterator[Finding]:
    """What readers would refuse and is not ``known`` yet, by path: what commits promise of files.

    Where a commit cannot be read, that is a finding, and readers refuse the table anyway.
    """
    try:
        damages = table.damages()
    except CorruptTableError:
        return
    for each in damages:
        if each.path not in known:
            what = "missing file" if each.is_gone else "damaged file"
            yield Finding(
                grade=Grade.ERROR, what=what, where=each.path, detail=f"it {each.problem}"
            )


def _orphans(
    table: Table,
    timeline: SeenTimeline,
    stated: Mapping[str, StatedFile],
    files: Iterable[FileStatus],
) -> Iterator[Finding]:
    """What there is to say of files that nobody names, as far as they are there still."""
    named = _named(timeline, stated)
    owners = Owners.of(table.storage, table.timeline, named, timeline.archived)
    for found in owners.findings(files):
        if found.grade is not Grade.ORPHAN or table.storage.exists(found.where):
            yield found


def _sizes_in(slices: Iterable[FileSlice]) -> dict[str, int]:
    """The sizes of the files of slices, by path."""
    slices = tuple(slices)
    bases = (each.base_file for each in slices if each.base_file is not None)
    logs = (log for each in slices for log in each.log_files)
    return {base.path: base.size_bytes for base in bases} | {
        log.path: log.size_bytes for log in logs
    }


def _named(timeline: SeenTimeline, stated: Mapping[str, StatedFile]) -> set[str]:
    """The paths of all files that completed writes name, those of change data among them."""
    stats = (stat for _, written in timeline.stats for stat in written)
    return {*stated, *(path for stat in stats for path in stat.cdc_stats or ())}


def _is_promised(timeline: SeenTimeline) -> bool:
    """Whether no write may have kept a second row of a key, so far as the timeline tells."""
    kept = {operation.commit_name for operation in _MAY_REPEAT}
    is_whole = timeline.retained.since != NEWEST_ALONE
    return is_whole and not any(commit.operation_type in kept for _, commit in timeline.commits)


def _of_properties(table: Table) -> Iterator[Finding]:
    if table.storage.exists(BACKUP_FILE):
        yield Finding(
            grade=Grade.NOTE,
            what="backup left",
            where=BACKUP_FILE,
            detail="somebody replaces the properties now, or died while replacing them",
        )


def _latest_slices(table: Table) -> tuple[tuple[FileSlice, ...], str | None]:
    """The slices that hold the table, and why they are not known."""
    try:
        return table.latest_slices(), None
    except CorruptTableError as error:
        return (), str(error)


def _left_undone(what: str, why: str | None) -> Iterator[Finding]:
    if why is not None:
        yield Finding(grade=Grade.NOTE, what=what, where="the table", detail=why)
