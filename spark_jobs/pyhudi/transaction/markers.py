"""Markers: what the attempts of a write may have left in the table.

Before a task makes a data file it leaves an empty marker with the file's name; whoever finishes
or undoes the write compares the markers with the files that count.

Source: DirectWriteMarkers and TimelineServerBasedWriteMarkers, Hudi 0.15 and 1.1. Those of other
writers may be of the second kind, text lists in ``MARKERS<n>``; both are read, the first written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from pyhudi.errors import CorruptTableError, located
from pyhudi.filegroup.names import inner_path, parse_log_file_name
from pyhudi.storage.objects.transfer.uploads import give_up_uploads
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.storage.versioned import is_flat
from pyhudi.transaction.appended import is_own_log

_TEMP = ".hoodie/.temp"
_SEPARATOR = ".marker."
_LIST_PREFIX = "MARKERS"
_LIST_TYPE = "MARKERS.type"


class MarkerType(Enum):
    """What the task is about to do with the file."""

    CREATE = "CREATE"
    MERGE = "MERGE"
    APPEND = "APPEND"


_ENDINGS = tuple(f"{_SEPARATOR}{kind.value}" for kind in MarkerType)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedFile:
    """A data file, relative to the table, that an attempt may have made."""

    path: str
    kind: MarkerType


def marker_folder(instant: str) -> str:
    """The folder of an instant's markers."""
    return f"{_TEMP}/{instant}"


def leave_marker(storage: Storage, instant: str, path: str, kind: MarkerType) -> None:
    """Say that the file at ``path`` is about to be made by the write at ``instant``.

    Nobody else leaves one of this name: it has the token of the attempt in it, or else what it says
    is the same. So it need not be created, for which tasks may lack what it takes.
    """
    storage.put(_marker(instant, path, kind), b"")


def read_markers(storage: Storage, instant: str) -> tuple[MarkedFile, ...]:
    """Every marker of an instant, of either kind.

    Raises:
        CorruptTableError: one leads out of the table.
    """
    root = marker_folder(instant)
    found: list[MarkedFile] = []
    for status in _files_below(storage, root):
        relative = status.path[len(root) + 1 :]
        if relative.startswith(_LIST_PREFIX) and relative != _LIST_TYPE:
            lines = storage.read(status.path).decode("utf-8", "replace").splitlines()
            with located(storage.absolute(status.path)):
                found.extend(_parse(line) for line in lines if _SEPARATOR in line)
        elif _SEPARATOR in relative:
            found.append(_parse(relative))
    return tuple(sorted(set(found), key=lambda marked: marked.path))


def read_markers_twice(storage: Storage, instant: str) -> tuple[MarkedFile, ...]:
    """The markers of an instant by two looks, where what is missed would stay for good.

    Nobody is told of a listing that ends midway, and files of a write that was undone count as the
    table's once later instants are archived.
    """
    found = {*read_markers(storage, instant), *read_markers(storage, instant)}
    return tuple(sorted(found, key=lambda marked: marked.path))


def marked_instants(storage: Storage) -> tuple[str, ...]:
    """The instants that have markers."""
    return tuple(status.name for status in storage.list(_TEMP) if status.is_dir)


def delete_strays(
    storage: Storage, instant: str, marked: Iterable[MarkedFile], committed: Collection[str]
) -> tuple[str, ...]:
    """Delete the marked files of attempts that do not count: retried and speculative ones.

    Guarantees: every file an attempt may have made is in ``committed`` or gone afterwards; to be
    called before the commit point, so that no reader ever sees two versions of one file.
    Source: HoodieTable.reconcileAgainstMarkers, Hudi 0.15.
    """
    strays = tuple(
        file.path
        for file in marked
        # What was appended to a file of others stays: it says what the attempt that counts says.
        if file.path not in committed and _is_of(storage, file.path, instant)
    )
    storage.delete_all(strays)
    give_up_uploads(storage, strays)
    return strays


def delete_written(storage: Storage, instant: str, files: Iterable[str]) -> None:
    """Delete the files that a write made, at these paths, some of them after it was rolled back.

    A log file may be another write's by now: the number of a version is free once its file is gone.
    """
    storage.delete_all(path for path in sorted(files) if _is_of(storage, path, instant))


def _is_of(storage: Storage, path: str, instant: str) -> bool:
    is_log = parse_log_file_name(path.rpartition("/")[2]) is not None
    return not is_log or is_own_log(storage, path, instant)


def delete_markers(
    storage: Storage, instant: str, known: Iterable[MarkedFile] | None = None
) -> None:
    """Delete an instant's markers.

    Where they are ``known``, each having been left by ``leave_marker``, no listing is made for it.
    One that a late task has left since stays, and its file is found by it.
    """
    if known is None or not is_flat(storage):
        storage.delete_dir(marker_folder(instant))
    else:
        storage.delete_all(_marker(instant, each.path, each.kind) for each in known)


def _marker(instant: str, path: str, kind: MarkerType) -> str:
    return f"{marker_folder(instant)}/{path}{_SEPARATOR}{kind.value}"


def _parse(text: str) -> MarkedFile:
    path, _, kind = text.rpartition(_SEPARATOR)
    try:
        return MarkedFile(path=inner_path(path), kind=MarkerType(kind.strip()))
    except ValueError as error:
        raise CorruptTableError(f"the marker {text[:200]!r} is of no kind that is known") from error


def _files_below(storage: Storage, folder: str) -> Iterator[FileStatus]:
    for status in storage.walk(folder):
        if not status.name.startswith(".") or status.name.endswith(_ENDINGS):
            # Hidden are checksums, and what a killed writer had not yet given its name. The
            # names of log files begin so too.
            yield status
