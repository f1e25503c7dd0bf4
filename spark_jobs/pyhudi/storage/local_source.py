"""The files of a source that lies on this machine, found without Spark.

It needs the standard library alone, so that a task of Airflow can ask it before anything starts.
"""

from __future__ import annotations

import glob as globbing
import os
from collections.abc import Iterator, Mapping

from pyhudi.errors import MissingSourceError

FILE_FORMATS = frozenset({"parquet", "csv", "json", "orc", "avro", "text", "xml", "binaryfile"})
"""Formats whose source is a path of files; to others a path means what they like."""
_HADOOP_CONF = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
# In Hadoop's globs, and read otherwise or not at all by Python's.
_OTHERWISE = frozenset("{[\\")


def local_files(source: str) -> list[str] | None:
    """The files of a source that lies on the local file system, None when Spark has to find them.

    Raises:
        MissingSourceError: it lies there, and nothing is at its path.
    """
    found: list[str] = []
    for part in _parts(source):
        path = _local_path(part)
        if path is None or _OTHERWISE & set(path):
            return None
        matches = globbing.glob(path)
        if not matches:
            raise _missing(part)
        for match in sorted(matches):
            found.extend(_files_of(match))
    return found


def check_source(source: str, source_format: str, *, is_local: bool) -> None:
    """Refuse a source of which some path is seen from this machine to lead nowhere.

    ``is_local`` says whether a path without a scheme is one of this machine; ``file:`` always is.

    Raises:
        MissingSourceError: nothing is at a path, or a folder without files.
    Not: what lies elsewhere, and what only Spark can tell.
    """
    if source_format.lower() not in FILE_FORMATS:
        return
    for part in _parts(source):
        path = _local_path(part) if is_local or part.startswith("file:") else None
        if path is None or _OTHERWISE & set(path):
            continue
        matches = globbing.glob(path)
        if not matches:
            raise _missing(part)
        if not any(True for match in matches for _ in _files_of(match)):
            raise MissingSourceError(f"the source {part} has no files; check --source")


def source_bytes(source: str, *, is_local: bool) -> int | None:
    """What the files of a source on this machine take; None when not all can be seen from here."""
    total = 0
    for part in _parts(source):
        path = _local_path(part) if is_local or part.startswith("file:") else None
        if path is None or _OTHERWISE & set(path):
            return None
        matches = globbing.glob(path)
        if not matches:
            return None
        try:
            total += sum(os.path.getsize(file) for match in matches for file in _files_of(match))
        except OSError:
            return None
    return total


def names_hadoop(environ: Mapping[str, str]) -> bool:
    """Whether the environment names a configuration of Hadoop, which says where plain paths are."""
    return any(environ.get(name) for name in _HADOOP_CONF)


def _parts(source: str) -> list[str]:
    return [part.strip() for part in source.split(",")]


def _local_path(part: str) -> str | None:
    path = part.removeprefix("file://").removeprefix("file:")
    if "://" in path or not ("/" in path or os.path.exists(path)):
        return None
    return path


def _missing(part: str) -> MissingSourceError:
    return MissingSourceError(f"the source {part} does not exist; check --source")


def _files_of(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in sorted(names):
            if not _is_hidden(name):
                yield os.path.join(folder, name)


def _is_hidden(name: str) -> bool:
    """Source: HadoopFSUtils.shouldFilterOutPathName, Spark 3.5."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
