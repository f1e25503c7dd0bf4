"""Which of the files that commits name must still be there, and which files belong to nobody. Pure.

Source: CleanPlanner, Hudi 0.15: a clean keeps of each file group what is at or after the earliest
retained commit, the newest slice before it, and nothing of groups that were replaced before it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyhudi.filegroup.names import parse_base_file_name, parse_log_file_name
from pyhudi.filegroup.slices import GroupId

EVERYTHING = "0"
"""Retained since the beginning: no clean has deleted anything."""
NEWEST_ALONE = "9"
"""Retained since nobody knows when: only the newest slices are sure to be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """Since when files are kept; the names of those that cleans said they deleted.

    ``replaced`` has the instant that replaced each file group that is hidden, ``compacting`` the
    instants of compactions that have not run.
    """

    since: str
    cleaned: frozenset[str] = frozenset()
    replaced: Mapping[GroupId, str] = field(default_factory=dict)
    compacting: frozenset[str] = frozenset()


def slice_of(path: str) -> tuple[GroupId, str] | None:
    """The file group of a data file and the instant of its slice; None for any other file."""
    partition, _, name = path.rpartition("/")
    log = parse_log_file_name(name)
    if log is not None:
        return (partition, log.file_id), log.base_instant
    base = parse_base_file_name(name)
    return None if base is None else ((partition, base.file_id), base.instant)


def required_files(named: Iterable[str], kept: Retained) -> frozenset[str]:
    """Of the data files that completed writes name, those that must be there."""
    groups: dict[GroupId, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in named:
        found = slice_of(path)
        if found is not None:
            group, instant = found
            groups[group][instant].append(path)
    wanted = (
        path
        for group, slices in groups.items()
        if kept.replaced.get(group, NEWEST_ALONE) >= kept.since
        for instant in _kept_slices(slices, kept)
        for path in slices[instant]
    )
    return frozenset(path for path in wanted if path.rpartition("/")[2] not in kept.cleaned)


def _kept_slices(slices: Iterable[str], kept: Retained) -> list[str]:
    older = [each for each in slices if each < kept.since and each not in kept.compacting]
    newest_before = max(older, default="")
    return [each for each in slices if each >= min(kept.since, newest_before or kept.since)]
