"""What completed writes say of a table's files, held against the files that are there. Pure.

Source: HoodieWriteStat, HoodieDeltaWriteStat and HoodieAppendHandle.close, Hudi 0.15 and 1.1, whose
metadata table takes the same names and sizes for its listing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyhudi.actions.commit import WriteStat
from pyhudi.filegroup.names import parse_base_file_name, parse_log_file_name
from pyhudi.filegroup.slices import FileSlice, GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A file that a completed write made or appended to, and which bytes of it are the write's own.

    ``slice_instant`` is the one in the file's name. No slice that begins after ``reach`` has the
    file; of those before it the latest has.

    Units: bytes.
    """

    path: str
    group: GroupId
    slice_instant: str
    reach: str
    instant: str
    begin: int
    end: int
    is_log: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A file that is not what the write at ``instant`` said it is; ``problem`` is what is wrong.

    ``is_gone`` says that it is not there at all.
    """

    path: str
    group: GroupId
    instant: str
    problem: str
    is_gone: bool = False

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


def promises_of(
    instant: str, stats: Iterable[WriteStat], completions: Mapping[str, str]
) -> Iterator[Promise]:
    """What the statistics of a completed write promise of data files.

    ``completions`` says when writes were completed, in table versions whose log files name them.
    Where they tell no size, as those of very old releases, only that the file is there. Files of
    change data hold no rows of the table, and are passed over.
    """
    for stat in stats:
        partition, _, name = (stat.path or "").rpartition("/")
        log = parse_log_file_name(name)
        if log is not None and not log.is_cdc:
            yield Promise(
                path=stat.path or "",
                group=(partition, log.file_id),
                slice_instant=log.base_instant,
                reach=completions.get(log.base_instant, log.base_instant),
                instant=instant,
                begin=stat.log_offset,
                end=stat.log_offset + stat.total_write_bytes,
                is_log=True,
            )
        base = parse_base_file_name(name)
        if base is not None:
            yield Promise(
                path=stat.path or "",
                group=(partition, base.file_id),
                slice_instant=base.instant,
                reach=base.instant,
                instant=instant,
                begin=0,
                end=stat.file_size_bytes,
                is_log=False,
            )


def damages(
    promises: Iterable[Promise],
    slices: Iterable[FileSlice],
    sizes: Mapping[str, int],
    *,
    is_hidden: Callable[[GroupId], bool],
    counts: Callable[[str], bool],
) -> list[Damage]:
    """What of the promises is not kept, of the newest slice of each file group.

    ``slices`` are those that a reader finds, ``sizes`` those of all files in their partitions.
    ``is_hidden`` says of a file group that an overwrite hid it, ``counts`` of a base instant that
    its slice is one of the table's. Older slices may have been cleaned.

    Shapes: ordered by path.
    Guarantees: a table whose files are as their writers left them, cleaned or not, has none.
    """
    seen = {(each.partition, each.file_id): each for each in slices}
    by_group: dict[GroupId, list[Promise]] = defaultdict(list)
    for promise in promises:
        by_group[promise.group].append(promise)
    found: dict[str, Damage] = {}
    for group, own in by_group.items():
        if is_hidden(group):
            continue
        newest = _newest(own, seen.get(group))
        for promise in own:
            problem = _problem(promise, sizes, counts)
            if promise.reach >= newest and problem:
                found[promise.path] = Damage(
                    path=promise.path,
                    group=group,
                    instant=promise.instant,
                    problem=problem,
                    is_gone=promise.path not in sizes,
                )
    return [found[path] for path in sorted(found)]


def _newest(promises: list[Promise], seen: FileSlice | None) -> str:
    """The base instant of the newest slice that must be there, of a group of which ``seen`` is.

    Without its base file a slice may begin with a log file, where these name their write.
    """
    bases = [each.slice_instant for each in promises if not each.is_log]
    if seen is not None and (seen.base_file is not None or not bases):
        bases.append(seen.base_instant)
    return max(bases or [each.slice_instant for each in promises])


def _problem(promise: Promise, sizes: Mapping[str, int], counts: Callable[[str], bool]) -> str:
    size = sizes.get(promise.path)
    if not counts(promise.slice_instant):
        # Hudi renames log files where it takes back the plan of a compaction that they wait for.
        if size is None:
            return ""
        return f"waits for the compaction {promise.slice_instant}, which is not on the timeline"
    if size is None:
        return f"is not there; the write {promise.instant} made it"
    if size < promise.end:
        return (
            f"has {size:,} bytes of the {promise.end:,} that it had after the write "
            f"{promise.instant}"
        )
    return ""
