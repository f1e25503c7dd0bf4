"""A folder of an object store as a Storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from pyhudi.errors import (
    AlreadyExistsError,
    CorruptTableError,
    MissingFileError,
    StorageError,
)
from pyhudi.storage.keyring import NO_OPTIONS, HiddenOptions
from pyhudi.storage.objects.arrow_calls import ArrowCalls, lacking
from pyhudi.storage.objects.calls import PAGE, Calls, Entry, ObstoreCalls
from pyhudi.storage.objects.clients import arrow_client, has_obstore
from pyhudi.storage.objects.creating import Creator
from pyhudi.storage.objects.patience import patiently
from pyhudi.storage.objects.place import Place
from pyhudi.storage.objects.requests import Kind, note
from pyhudi.storage.objects.swapping import check_swaps
from pyhudi.storage.objects.transfer.kept import KEPT
from pyhudi.storage.objects.transfer.listing import folders_listed, listed
from pyhudi.storage.objects.transfer.ranges import TAIL_BYTES, ObjectReader, object_file
from pyhudi.storage.objects.transfer.sinks import NO_ROOM, ROOM, ObjectWriter, object_sink
from pyhudi.storage.storage import FileStatus, located_input
from pyhudi.storage.versioned import Versioned

if TYPE_CHECKING:
    from pyarrow import fs


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStorage:
    """A folder of a bucket. What the methods do is said by ``Storage``.

    A folder is what keys begin with: none is made, and one is there as long as something lies in
    it. Objects whose keys end with a slash, which others make to stand for folders, are ignored.
    Requests go through obstore where it is installed, else through ``pyarrow.fs``, which cannot
    create; files of data are written by ``pyarrow.fs`` once there is no room to put them at once.

    Guarantees: those of ``Storage``, on a store that honours conditional writes, which is found
        out before the first create. A request that has no clear answer is made again for a while;
        one that creates is known by its token then.
    Not: whether a file was there when it was deleted; the store does not tell.
    """

    place: Place
    sources: HiddenOptions = NO_OPTIONS

    @property
    def is_flat(self) -> bool:
        """That a folder is gone with the last file in it."""
        return True

    @property
    def uri(self) -> str:
        """The root as the user gave it."""
        return self.place.uri

    @property
    def filesystem(self) -> fs.FileSystem:
        """The file system of Arrow's that has the bucket."""
        return arrow_client(self.place.connection)

    def absolute(self, path: str) -> str:
        """The URI of a file: there is no shorter name that tells it from others."""
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            raise CorruptTableError(f"the path {path!r} leads out of the folder {self.uri}")
        return f"{self.uri}/{path}" if path else self.uri

    def list(self, path: str) -> list[FileStatus]:
        """Entries of a folder sorted by path; empty when the folder is absent."""
        with self._errors("list", path):
            calls, prefix = self._calls, self._key(path)
            found = patiently(lambda: listed(calls, prefix, is_deep=False))
        return sorted((self._status(each) for each in found), key=lambda status: status.path)

    def list_folders(self, paths: Iterable[str]) -> Mapping[str, Sequence[FileStatus]]:
        """The files of several folders: small ones that lie near one another come in one page."""
        folders = list(paths)
        if "" in folders or len(folders) < 2 or not has_obstore():
            return {path: self.list(path) for path in folders}
        found: dict[str, Sequence[FileStatus]] = {}
        with self._errors("list", ""):
            calls, root, keys = self._calls, self._key(""), map(self._key, folders)
            listed = patiently(partial(folders_listed, calls, root, list(keys)))
        for path in folders:
            files = (self._status(each) for each in listed[self._key(path)])
            found[path] = sorted(files, key=lambda status: status.path)
        return found

    def walk(self, path: str, without: str | None = None) -> tuple[FileStatus, ...]:
        """The files below a folder, sorted by path: a request for 1,000 of them."""
        with self._errors("list", path):
            calls, prefix = self._calls, self._key(path)
            left_out = None if without is None else self._key(without)
            found = patiently(lambda: listed(calls, prefix, is_deep=True, left_out=left_out))
        above = {folder for entry in found for folder in _folders_above(entry.key)}
        files = (entry for entry in found if entry.size_bytes or entry.key not in above)
        return tuple(sorted((self._status(each) for each in files), key=lambda status: status.path))

    def status(self, path: str) -> FileStatus | None:
        """The file at the path, or the folder if something lies in it, or None."""
        with self._errors("look at", path):
            found = patiently(lambda: self._calls.head(self._key(path))) if path else None
            if found is not None:
                return self._status(found)
            pages = partial(self._calls.list, self._key(path), is_deep=True)
            if not patiently(lambda: next(pages(), [])):
                return None
        return FileStatus(path=path, size_bytes=0, modified_ms=0, is_dir=True)

    def exists(self, path: str) -> bool:
        """Whether a file or folder lies at the path."""
        return self.status(path) is not None

    def read(self, path: str) -> bytes:
        """The whole file."""
        with self._errors("read", path):
            return patiently(lambda: self._calls.get(self._key(path)))[0]

    def read_settled(self, path: str) -> bytes:
        """The whole file, once in a process; the latest of them are kept."""
        where = self.absolute(path)
        data = KEPT.get(where)
        if data is None:
            data = self.read(path)
            KEPT.put(where, data)
        return data

    def read_known(self, path: str, tag: str) -> bytes:
        """The whole file; from memory where this process has read the version of this tag."""
        if not has_obstore():
            return self.read(path)
        where = self.absolute(path)
        known = KEPT.get(f"{where}#{tag}") if tag else None
        if known is not None:
            return known
        found = self.read_versioned(path)
        KEPT.put(f"{where}#{found.version}", found.data)
        return found.data

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        """A seekable input file, whose errors name it."""
        calls, key = self._calls, self._key(path)

        def fetch(start: int, length: int) -> pa.Buffer:
            with self._errors("read", path):
                return patiently(lambda: calls.get_range(key, start, length))

        with self._errors("read", path):
            tail = patiently(lambda: calls.opened(key, TAIL_BYTES))
        return located_input(object_file(ObjectReader(tail, fetch)), self.absolute(path))

    def open_output(self, path: str) -> pa.NativeFile:
        """A stream that makes or replaces a file, which appears when the stream is closed."""
        key, connection = self._key(path), self.place.connection

        def begin() -> pa.NativeFile:
            where = f"{connection.bucket}/{key}"
            return arrow_client(connection).open_output_stream(where, compression=None)

        def put(data: bytes | memoryview) -> None:
            KEPT.drop(self.absolute(path))
            with self._errors("write", path):
                patiently(lambda: self._calls.put(key, data))

        count, room = partial(self._count, Kind.MULTIPART, key), ROOM if has_obstore() else NO_ROOM
        return object_sink(ObjectWriter(put, begin, count, room))

    def check_writable(self) -> None:
        """Refuse where nothing can be created, without a request.

        Raises:
            SetupError: obstore is not installed.
        """
        if not has_obstore():
            raise lacking(self.place.connection, f"cannot write {self.uri}", "writing to")

    def create(self, path: str, data: bytes) -> None:
        """Make a file with these bytes unless one is there."""
        self.absolute(path)
        with self._errors("create", path):
            Creator(place=self.place, calls=self._calls).create(path, data)
        KEPT.put(self.absolute(path), data)

    def read_versioned(self, path: str) -> Versioned:
        """The whole file, and its entity tag or generation."""
        with self._errors("read", path):
            return patiently(lambda: self._calls.version(self._key(path)))

    def put_if(self, path: str, data: bytes, version: str | None) -> str:
        """Replace this version of a file, on a store that was found to compare it."""
        with self._errors("replace", path):
            check_swaps(self.place, self._calls)
            return self._calls.swap(self._key(path), data, version)

    def put(self, path: str, data: bytes) -> None:
        """Make or replace a file with these bytes."""
        KEPT.drop(self.absolute(path))
        with self._errors("write", path):
            patiently(lambda: self._calls.put(self._key(path), data))

    def delete(self, path: str) -> bool:
        """Delete a file; True in any case."""
        self.delete_all((path,))
        return True

    def delete_all(self, paths: Iterable[str]) -> None:
        """Delete files: on S3 a request for 1,000 of them."""
        self._delete_keys([self._key(path) for path in paths])

    def delete_dir(self, path: str) -> None:
        """Delete all that lies in a folder."""
        self._delete_keys([self._key(found.path) for found in self.walk(path)])

    def make_dir(self, path: str) -> None:
        """Nothing: folders are what keys begin with."""
        self.absolute(path)

    def _delete_keys(self, keys: Sequence[str]) -> None:
        for first in range(0, len(keys), PAGE):
            some = keys[first : first + PAGE]
            for key in some:
                KEPT.drop(self.absolute(self.place.path(key)))
            with self._errors("delete", self.place.path(some[0])):
                patiently(partial(self._calls.delete, some))

    def _key(self, path: str) -> str:
        self.absolute(path)
        return self.place.key(path)

    def _status(self, entry: Entry) -> FileStatus:
        return FileStatus(
            path=self.place.path(entry.key),
            size_bytes=entry.size_bytes,
            modified_ms=entry.modified_ms,
            is_dir=entry.is_prefix,
            tag=entry.tag,
        )

    @property
    def _calls(self) -> Calls:
        kind = ObstoreCalls if has_obstore() else ArrowCalls
        return kind(connection=self.place.connection, count=self._count)

    def _count(self, kind: Kind, key: str, times: int = 1) -> None:
        note(self.uri, kind, key, times)

    @contextmanager
    def _errors(self, verb: str, path: str) -> Iterator[None]:
        where = self.absolute(path)
        try:
            yield
        except MissingFileError as error:
            raise MissingFileError(f"cannot {verb} {where}: it is not there") from error
        except AlreadyExistsError as error:
            raise AlreadyExistsError(f"cannot {verb} {where}: it is already there") from error
        except StorageError as error:
            raise type(error)(f"cannot {verb} {where}: {error}") from error


def _folders_above(key: str) -> Iterator[str]:
    while "/" in key:
        key = key.rpartition("/")[0]
        yield key
