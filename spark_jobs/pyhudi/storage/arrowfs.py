"""Any pyarrow file system as a Storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyarrow import fs

from pyhudi.errors import (
    AlreadyExistsError,
    CorruptTableError,
    MissingFileError,
)
from pyhudi.storage.keyring import NO_OPTIONS, HiddenOptions
from pyhudi.storage.storage import FileStatus, failed_call, located_input

if TYPE_CHECKING:
    import pyarrow as pa

CreateIfAbsent = Callable[[fs.FileSystem, str, bytes], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowStorage:
    """A folder of a ``pyarrow.fs`` file system.

    ``create_if_absent`` and ``replace`` carry what the file system itself cannot promise: each
    store has its own way to make a file appear at once (see ``storage/create.py``). ``real_root``
    is the root without symbolic links, on file systems that have them. ``sources`` are the options
    of the storage that a table here was bootstrapped from.

    Guarantees: no path leads out of the root, by its text or by a symbolic link below the root.
    """

    filesystem: fs.FileSystem
    root: str
    uri: str
    create_if_absent: CreateIfAbsent
    replace: CreateIfAbsent
    real_root: str = ""
    sources: HiddenOptions = NO_OPTIONS

    def absolute(self, path: str) -> str:
        """The path as the file system knows it, without a scheme."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            raise CorruptTableError(f"the path {path!r} leads out of the folder {self.root}")
        return f"{self.root}/{path}" if path else self.root

    def list(self, path: str) -> list[FileStatus]:
        """Entries of a folder sorted by path; empty when the folder is absent."""
        selector = fs.FileSelector(self._place(path), allow_not_found=True)
        with self._errors("list", path):
            found = self.filesystem.get_file_info(selector)
        return sorted((self._status(info) for info in found), key=lambda status: status.path)

    def list_folders(self, paths: Iterable[str]) -> Mapping[str, Sequence[FileStatus]]:
        """Entries of several folders, one listed after another."""
        return {path: self.list(path) for path in paths}

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        """The files below a folder, sorted by path."""
        where, left_out = self._place(path), None if without is None else self.absolute(without)
        with self._errors("list", path):
            if self.real_root:
                found = [self._status(each) for each in _walk_local(where, left_out)]
            else:
                selector = fs.FileSelector(where, allow_not_found=True, recursive=True)
                found = [
                    self._status(each)
                    for each in self.filesystem.get_file_info(selector)
                    if each.type == fs.FileType.File
                    and (left_out is None or not each.path.startswith(f"{left_out}/"))
                ]
        return tuple(sorted(found, key=lambda status: status.path))

    def status(self, path: str) -> FileStatus | None:
        """The entry at the path, or None."""
        with self._errors("look at", path):
            info = self.filesystem.get_file_info(self._place(path))
        return None if info.type == fs.FileType.NotFound else self._status(info)

    def exists(self, path: str) -> bool:
        """Whether a file or folder lies at the path."""
        return self.status(path) is not None

    def read(self, path: str) -> bytes:
        """The whole file."""
        with (
            self._errors("read", path),
            self.filesystem.open_input_stream(self._place(path), compression=None) as stream,
        ):
            return bytes(stream.read())

    def read_settled(self, path: str) -> bytes:
        """The whole file; nothing is gained by keeping it."""
        return self.read(path)

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """A seekable input file, whose errors name it."""
        with self._errors("read", path):
            source = self.filesystem.open_input_file(self._place(path))
        return located_input(source, self.absolute(path))

    def open_output(self, path: str) -> pa.NativeFile:
        """A stream that makes or replaces a file; missing folders are made."""
        with self._errors("write", path):
            self._make_parent(path)
            return self.filesystem.open_output_stream(self._place(path), compression=None)

    def create(self, path: str, data: bytes) -> None:
        """Make a file with these bytes unless one is there."""
        with self._errors("create", path):
            self._make_parent(path)
            self.create_if_absent(self.filesystem, self._place(path), data)

    def put(self, path: str, data: bytes) -> None:
        """Make or replace a file with these bytes."""
        with self._errors("write", path):
            self._make_parent(path)
            self.replace(self.filesystem, self._place(path), data)

    def touch(self, path: str) -> None:
        """Set the file's time to that of the storage; absent is fine."""
        with suppress(MissingFileError), self._errors("touch", path):
            if self.real_root:
                os.utime(self._place(path))
            else:
                self.replace(self.filesystem, self._place(path), self.read(path))

    def delete(self, path: str) -> bool:
        """Delete a file; False when it was absent."""
        with self._errors("delete", path):
            try:
                self.filesystem.delete_file(self._place(path))
            except FileNotFoundError:
                return False
        return True

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete files, one after another; absent ones are fine."""
        for path in paths:
            self.delete(path)

    def delete_dir(self, path: str) -> None:
        """Delete a folder with all it holds; absent is fine."""
        with self._errors("delete", path):
            try:
                self.filesystem.delete_dir(self._place(path))
            except FileNotFoundError:
                return

    def make_dir(self, path: str) -> None:
        """Make a folder and those above it; present is fine."""
        with self._errors("make the folder", path):
            self.filesystem.create_dir(self._place(path), recursive=True)

    def _place(self, path: str) -> str:
        """The path to give to the file system.

        Raises:
            CorruptTableError: it leads out of the root, or through a symbolic link below it.
        """
        where = self.absolute(path)
        if self.real_root and path:
            real = os.path.realpath(where)
            if real != os.path.join(self.real_root, os.path.normpath(path)):
                raise CorruptTableError(
                    f"{where} is a symbolic link, or lies behind one, and leads to {real}: the "
                    f"files of a table lie in its own folder"
                )
        return where

    def _make_parent(self, path: str) -> None:
        self.filesystem.create_dir(os.path.dirname(self._place(path)), recursive=True)

    def _status(self, info: fs.FileInfo) -> FileStatus:
        relative = info.path[len(self.root) :].lstrip("/")
        modified = info.mtime_ns
        return FileStatus(
            path=relative,
            size_bytes=info.size or 0,
            modified_ms=0 if modified is None else modified // 1_000_000,
            is_dir=info.type == fs.FileType.Directory,
        )

    @contextmanager
    def _errors(self, verb: str, path: str) -> Iterator[None]:
        where = self.absolute(path)
        try:
            yield
        except FileNotFoundError as error:
            raise MissingFileError(f"cannot {verb} {where}: it is not there") from error
        except FileExistsError as error:
            raise AlreadyExistsError(f"cannot {verb} {where}: it is already there") from error
        except OSError as error:
            raise failed_call(verb, where, error) from error


def _walk_local(where: str, without: str | None) -> Iterator[fs.FileInfo]:
    """The files below a local folder, which may change meanwhile; links are not followed."""
    folders = [where]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except FileNotFoundError:
            continue
        for entry in entries:
            if entry.path == without:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                continue
            with suppress(FileNotFoundError):
                status, is_dir = entry.stat(), entry.is_dir()
                kind = fs.FileType.Directory if is_dir else fs.FileType.File
                size = None if is_dir else status.st_size
                yield fs.FileInfo(entry.path, kind, mtime_ns=status.st_mtime_ns, size=size)
