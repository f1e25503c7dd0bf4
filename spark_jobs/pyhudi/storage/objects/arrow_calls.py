"""Requests to an object store by ``pyarrow.fs`` alone, for tasks and readers without obstore."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn

import pyarrow as pa
from pyarrow import fs

from pyhudi.errors import MissingFileError, SetupError, StorageError, UnclearAnswerError
from pyhudi.storage.objects.answers import said
from pyhudi.storage.objects.calls import PAGE, Count, Entry, Tail
from pyhudi.storage.objects.clients import arrow_client
from pyhudi.storage.objects.place import Connection
from pyhudi.storage.objects.requests import Kind

_REFUSED: Final = re.compile(r"HTTP status 4(?!08|09|29)\d\d")


class ArrowCalls:
    """Requests by ``pyarrow.fs``. What the methods do is said by ``Calls``.

    It asks for more than obstore: the size of an object before its first byte, and what lies
    beside a file that it deletes. It has no conditional put, so that nothing can be created.
    """

    def __init__(self, *, connection: Connection, count: Count) -> None:
        self.connection, self.count = connection, count
        self._open: dict[str, pa.NativeFile] = {}

    def get(self, key: str) -> tuple[bytes, str | None]:
        """A whole object; no token is read."""
        self.count(Kind.HEAD, key)
        with self._answer(Kind.GET, key):
            stream = self._client.open_input_stream(self._place(key), compression=None)
            with stream:
                return bytes(stream.read()), None

    def opened(self, key: str, tail_bytes: int) -> Tail:
        """Up to so many of its last bytes."""
        with self._answer(Kind.HEAD, key):
            source = self._client.open_input_file(self._place(key))
            size = source.size()
        self._open[key] = source
        length = min(tail_bytes, size)
        data = self.get_range(key, size - length, length) if length else pa.py_buffer(b"")
        return Tail(data=data, size_bytes=size)

    def get_range(self, key: str, start: int, length: int) -> pa.Buffer:
        """Some bytes of an object that was opened before."""
        source = self._open.get(key)
        if source is None:
            with self._answer(Kind.HEAD, key):
                source = self._open[key] = self._client.open_input_file(self._place(key))
        with self._answer(Kind.GET, key):
            data = pa.py_buffer(source.read_at(length, start))
        if data.size != length:
            raise UnclearAnswerError(f"{key} gave {data.size} of {length} bytes at {start}")
        return data

    def head(self, key: str) -> Entry | None:
        """An object without its bytes; None when it is absent."""
        with self._answer(Kind.HEAD, key):
            info = self._client.get_file_info(self._place(key))
        return _entry(info, self.connection) if info.type == fs.FileType.File else None

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Make or replace an object."""
        with (
            self._answer(Kind.PUT, key),
            self._client.open_output_stream(self._place(key), compression=None) as stream,
        ):
            stream.write(data)

    def create(self, key: str, data: bytes, token: str) -> NoReturn:
        """Refuse: there is no conditional put here.

        Raises:
            SetupError: always.
        """
        del data, token
        self._refuse(f"cannot create {key}", "writing to")

    def version(self, key: str) -> NoReturn:
        """Refuse: what tells versions of an object apart is not told here.

        Raises:
            SetupError: always.
        """
        self._refuse(f"cannot tell which version of {key} there is", "the lock of a table on")

    def swap(self, key: str, data: bytes, version: str | None) -> NoReturn:
        """Refuse: there is no conditional put here.

        Raises:
            SetupError: always.
        """
        del data, version
        self._refuse(f"cannot replace {key}", "the lock of a table on")

    def _refuse(self, what: str, needing: str) -> NoReturn:
        raise lacking(self.connection, what, needing)

    def delete(self, keys: Sequence[str]) -> None:
        """Delete some objects, one after another."""
        for key in keys:
            try:
                self.count(Kind.HEAD, key)
                with self._answer(Kind.DELETE, key):
                    self._client.delete_file(self._place(key))
            except MissingFileError:  # noqa: PERF203 - a request takes longer
                continue

    def list(
        self, prefix: str, *, is_deep: bool, after: str | None = None
    ) -> Iterator[list[Entry]]:
        """What lies below a prefix, in one page however much it is."""
        selector = fs.FileSelector(self._place(prefix), allow_not_found=True, recursive=is_deep)
        with self._answer(Kind.LIST, prefix):
            infos = self._client.get_file_info(selector)
        more = max(0, -(-len(infos) // PAGE) - 1)
        if more:
            self.count(Kind.LIST, prefix, more)
        entries = (_entry(info, self.connection) for info in infos)
        yield [
            each
            for each in entries
            if not (is_deep and each.is_prefix) and (after is None or each.key > after)
        ]

    @property
    def _client(self) -> fs.FileSystem:
        return arrow_client(self.connection)

    def _place(self, key: str) -> str:
        return f"{self.connection.bucket}/{key}" if key else self.connection.bucket

    @contextmanager
    def _answer(self, kind: Kind, key: str) -> Iterator[None]:
        """Send one request: counted, and its error one of ours."""
        self.count(kind, key)
        try:
            yield
        except FileNotFoundError as error:
            raise MissingFileError(f"{key} is not there") from error
        except OSError as error:
            text = said(str(error))
            if "ACCESS_DENIED" in text or "HTTP status 403" in text:
                raise StorageError(f"{text}; check the credentials, and what they allow") from None
            if _REFUSED.search(text):
                raise StorageError(text) from None
            raise UnclearAnswerError(text) from None


def lacking(connection: Connection, what: str, needing: str) -> SetupError:
    """What to say where obstore is needed for something, and is not installed."""
    return SetupError(
        f"{what} on {connection.shown}: {needing} an object store needs the package obstore on the "
        "driver, which is not installed here; pip install "
        f"'airflow-provider-pyhudi[{connection.store.value}]'. Reading works without it"
    )


def _entry(info: fs.FileInfo, connection: Connection) -> Entry:
    modified = info.mtime_ns
    return Entry(
        key=info.path[len(connection.bucket) + 1 :].rstrip("/"),
        size_bytes=info.size or 0,
        modified_ms=0 if modified is None else modified // 1_000_000,
        is_prefix=info.type == fs.FileType.Directory,
    )
