"""HDFS as a Storage, by hdfs-native: no JVM and no libhdfs, on the driver and on the workers."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from pyhudi.errors import (
    AlreadyExistsError,
    CorruptTableError,
    HudiError,
    MissingFileError,
    OptionError,
    SetupError,
    StorageError,
    UnclearAnswerError,
)
from pyhudi.storage.hdfs_files import FAILURES, HdfsReader, HdfsWriter, first_line, hdfs_file
from pyhudi.storage.keyring import NO_OPTIONS, HiddenOptions
from pyhudi.storage.storage import FileStatus, located_input

_log = logging.getLogger(__name__)

SCHEMES: Final = frozenset({"hdfs", "viewfs"})
_BLOCK_BYTES, _REPLICATION = "default_block_size", "replication"
_CONNECT_TRIES: Final = 10
"""As often as Hadoop's client tries, a second apart (ipc.client.connect.max.retries, Hadoop 3)."""

_CONNECT_PAUSE_S: Final = 1.0
_CONNECT_S: Final = 5.0
# A file on its way to its name. Hudi's readers know no names of this kind, and pass them by.
_TEMPORARY: Final = re.compile(r"\..+\.pyhudi-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsStorage:
    """A folder of HDFS.

    ``cluster`` is scheme and name node, name service or mount table, which ``HADOOP_CONF_DIR``
    explains; empty after the scheme stands for the default file system there. ``settings`` are keys
    of Hadoop that go before those of its files.

    Guarantees: no path leads out of the root by its text; there are no symbolic links on HDFS.
    """

    cluster: str
    root: str
    uri: str
    settings: tuple[tuple[str, str], ...] = ()
    block_bytes: int | None = None
    replication: int | None = None
    sources: HiddenOptions = NO_OPTIONS

    def absolute(self, path: str) -> str:
        """The path as the file system knows it, without a scheme."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            raise CorruptTableError(f"the path {path!r} leads out of the folder {self.root}")
        return f"{self.root}/{path}" if path else self.root or "/"

    def list(self, path: str) -> list[FileStatus]:
        """Entries of a folder sorted by path; empty when the folder is absent."""
        return sorted(self._entries(path), key=lambda status: status.path)

    def list_folders(self, paths: Iterable[str]) -> Mapping[str, Sequence[FileStatus]]:
        """Entries of several folders, one listed after another."""
        return {path: self.list(path) for path in paths}

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        """The files below a folder, sorted by path: a call for each folder, as HDFS lists them.

        Source: getListing of the name node, Hadoop 3: the entries of one folder, 1,000 at once.
        """
        if without is None:
            found = list(self._entries(path, is_deep=True))
        else:
            found = []
            folders = [path]
            while folders:
                entries = list(self._entries(folders.pop()))
                folders += [each.path for each in entries if each.is_dir and each.path != without]
                found += entries
        return tuple(
            sorted((each for each in found if not each.is_dir), key=lambda status: status.path)
        )

    def status(self, path: str) -> FileStatus | None:
        """The entry at the path, or None."""
        where = self.absolute(path)
        with self._errors("look at", path):
            try:
                return self._status(self._client.get_file_info(where))
            except FileNotFoundError:
                return None

    def exists(self, path: str) -> bool:
        """Whether a file or folder lies at the path."""
        return self.status(path) is not None

    def read(self, path: str) -> bytes:
        """The whole file."""
        with self._errors("read", path):
            return bytes(self._client.read(self.absolute(path)).read())

    def read_settled(self, path: str) -> bytes:
        """The whole file."""
        return self.read(path)

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """A seekable input file, whose errors name it; see ``HdfsReader`` for who may read it."""
        where = self.absolute(path)
        with self._errors("read", path):
            reader = HdfsReader(self._client.read(where), where)
        return located_input(hdfs_file(reader), where)

    def open_output(self, path: str) -> pa.NativeFile:
        """A stream that makes or replaces a file; missing folders are made."""
        where = self.absolute(path)
        with self._errors("write", path):
            stream = self._client.create(where, self._options())
        return pa.PythonFile(HdfsWriter(stream, where), mode="w")

    def create(self, path: str, data: bytes) -> None:
        """Write the bytes beside it, then rename without overwriting: whole at once.

        Of several that rename to one name, the name node lets one succeed (FSDirRenameOp,
        Hadoop 3). A rename whose answer is lost is tried again by hdfs-native, and then meets what
        it did itself; so after an error the name that only this call knows decides.
        """
        where = self.absolute(path)
        with self._errors("create", path):
            temporary = self._filled(where, data)
            try:
                self._client.rename(temporary, where)
            except FAILURES as error:
                if not self._has_left(temporary, where, data):
                    raise _refused(where, error) from error

    def put(self, path: str, data: bytes) -> None:
        """Write the bytes beside it, then rename over what is there."""
        where = self.absolute(path)
        with self._errors("write", path):
            temporary = self._filled(where, data)
            try:
                self._client.rename(temporary, where, overwrite=True)
            except FAILURES:
                if not self._has_left(temporary, where, data):
                    raise

    def touch(self, path: str) -> None:
        """Set the file's time to that of this machine; absent is fine."""
        now_ms = time.time_ns() // 1_000_000
        with suppress(MissingFileError), self._errors("touch", path):
            self._client.set_times(self.absolute(path), now_ms, now_ms)

    def delete(self, path: str) -> bool:
        """Delete a file; False when it was absent."""
        where = self.absolute(path)
        with self._errors("delete", path):
            return bool(self._client.delete(where))

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete files, one after another; absent ones are fine."""
        for path in paths:
            self.delete(path)

    def delete_dir(self, path: str) -> None:
        """Delete a folder with all it holds, in one call; absent is fine."""
        where = self.absolute(path)
        with self._errors("delete", path):
            self._client.delete(where, recursive=True)

    def make_dir(self, path: str) -> None:
        """Make a folder and those above it; present is fine."""
        where = self.absolute(path)
        with self._errors("make the folder", path):
            self._client.mkdirs(where, create_parent=True)

    @property
    def _client(self) -> Any:
        return _client_of(os.getpid(), self.cluster, self.settings)

    def _options(self) -> Any:
        kind = _library().WriteOptions
        return kind(
            overwrite=True,
            create_parent=True,
            block_size=self.block_bytes,
            replication=self.replication,
        )

    def _filled(self, where: str, data: bytes) -> str:
        """A new file beside the path with these bytes, under a name that nobody else knows."""
        folder, _, name = where.rpartition("/")
        temporary = f"{folder}/.{name}.pyhudi-{secrets.token_hex(8)}"
        try:
            with self._client.create(temporary, self._options()) as stream:
                if data:
                    stream.write(data)
        except FAILURES:
            self._drop(temporary)
            raise
        return temporary

    def _has_left(self, temporary: str, where: str, data: bytes) -> bool:
        """Whether a rename that failed took place nevertheless; if not, it never will.

        Raises:
            UnclearAnswerError: nobody can tell.
        """
        is_gone = False
        try:
            self._client.get_file_info(temporary)
        except FileNotFoundError:
            is_gone = True
        # Once it is deleted, a rename that is still under way has nothing to rename.
        if not is_gone and self._client.delete(temporary):
            return False
        # Nobody else renames it, but somebody may have deleted the folder. One that was there at
        # the first look may have been deleted by a first try of hdfs-native's as well.
        with suppress(FileNotFoundError):
            found = bytes(self._client.read(where).read())
            if found == data and (is_gone or data):
                return True
        raise UnclearAnswerError(f"nobody can tell whether this call made {where}; look at it")

    def _drop(self, temporary: str) -> None:
        with suppress(*FAILURES):
            self._client.delete(temporary)

    def _entries(self, path: str, *, is_deep: bool = False) -> Iterator[FileStatus]:
        """What lies in a folder, or below it; a folder that goes meanwhile has nothing."""
        where = self.absolute(path)
        with self._errors("list", path):
            listing = iter(self._client.list_status(where, is_deep))
            while True:
                try:
                    entry = next(listing, None)
                except FileNotFoundError:
                    continue
                if entry is None:
                    return
                # The listing of a file is the file itself.
                if entry.path != where and not _TEMPORARY.fullmatch(entry.path.rpartition("/")[2]):
                    yield self._status(entry)

    def _status(self, entry: Any) -> FileStatus:
        return FileStatus(
            path=entry.path[len(self.root) :].lstrip("/"),
            size_bytes=0 if entry.isdir else entry.length,
            modified_ms=entry.modification_time,
            is_dir=entry.isdir,
        )

    @contextmanager
    def _errors(self, verb: str, path: str) -> Iterator[None]:
        where = self.absolute(path)
        try:
            yield
        except HudiError:
            raise
        except FileNotFoundError as error:
            raise MissingFileError(f"cannot {verb} {where}: it is not there") from error
        except FileExistsError as error:
            raise AlreadyExistsError(f"cannot {verb} {where}: it is already there") from error
        except FAILURES as error:
            raise StorageError(f"cannot {verb} {where}: {first_line(error)}") from error


def hdfs_storage(uri: str, shown: str, options: Mapping[str, str]) -> HdfsStorage:
    """The storage of a folder at ``hdfs://`` or ``viewfs://``; ``shown`` is what errors call it.

    Raises:
        OptionError: the URI names a user, or an option has no usable value.
        SetupError: hdfs-native is not installed.
        StorageError: what stands for the cluster is not known here, or nobody answers there.
    """
    parts = urlsplit(uri)
    if "@" in parts.netloc:
        raise OptionError(
            f"{shown}: the user of HDFS is told by HADOOP_USER_NAME, or by Kerberos' tickets; take "
            "it out of the path"
        )
    storage = HdfsStorage(
        cluster=f"{parts.scheme}://{parts.netloc}",
        root=re.sub("/+", "/", unquote(parts.path)).rstrip("/"),
        uri=shown,
        settings=tuple(sorted((key, text) for key, text in options.items() if "." in key)),
        block_bytes=_number(options, _BLOCK_BYTES, shown),
        replication=_number(options, _REPLICATION, shown),
    )
    try:
        _client_of(os.getpid(), storage.cluster, storage.settings)
    except FAILURES as error:
        raise StorageError(
            f"cannot open {shown}: {first_line(error)}. A name without a port is looked up in the "
            "core-site.xml and hdfs-site.xml of the folder that HADOOP_CONF_DIR names"
        ) from error
    try:
        _check_name_node(storage.cluster)
    except StorageError as error:
        raise StorageError(f"cannot open {shown}: {error}") from error
    return storage


@lru_cache(maxsize=16)
def _client_of(_process: int, cluster: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """The client of a process: a forked one has none of the threads of its parent's."""
    return _library().Client(cluster, dict(settings))


@lru_cache(maxsize=16)
def _check_name_node(cluster: str) -> None:
    """Wait until the name node of ``hdfs://host:port`` takes a connection, for a while.

    hdfs-native would wait for minutes, in silence, and do so for each call. A name without a port
    stands for several hosts, or for others, and is left to it. Those that answered are not asked
    again in this process.

    Raises:
        StorageError: nobody answers there.
    """
    parts = urlsplit(cluster)
    if parts.scheme != "hdfs" or parts.port is None or parts.hostname is None:
        return
    at = f"{parts.hostname}:{parts.port}"
    failed = _failed_connection(parts.hostname, parts.port)
    if failed is not None:
        _log.warning(
            "no name node answers at %s (%s); it is tried %d times", at, failed, _CONNECT_TRIES
        )
    for _ in range(_CONNECT_TRIES - 1):
        if failed is None or isinstance(failed, socket.gaierror):
            break
        time.sleep(_CONNECT_PAUSE_S)
        failed = _failed_connection(parts.hostname, parts.port)
    if failed is not None:
        raise StorageError(
            f"no name node answers at {at} ({failed}); check host and port, which fs.defaultFS in "
            "core-site.xml has, and whether it runs"
        ) from failed


def _failed_connection(host: str, port: int) -> OSError | None:
    """Why no connection is taken there."""
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError as error:
        return error
    return None


def _library() -> Any:
    """hdfs-native; loaded here alone, since other storages do without.

    Raises:
        SetupError: it is not installed.
    """
    if importlib.util.find_spec("hdfs_native") is None:
        raise SetupError(
            "a table on HDFS needs hdfs-native, on the driver and on every worker: pip install "
            "'airflow-provider-pyhudi[hdfs]', or hdfs-native itself where the engine comes as a zip"
        )
    return importlib.import_module("hdfs_native")


def _number(options: Mapping[str, str], name: str, shown: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise OptionError(f"storage_options of {shown}: {name}={text!r}; give a whole number")
    return int(text)


def _refused(where: str, error: Exception) -> Exception:
    """What to raise for a rename that did not take place."""
    if isinstance(error, FileExistsError):
        return AlreadyExistsError(f"cannot create {where}: it is already there")
    return error
