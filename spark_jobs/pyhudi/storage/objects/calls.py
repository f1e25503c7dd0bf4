"""Requests to an object store, one a call, and what their answers mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import pyarrow as pa

from pyhudi.errors import (
    AlreadyExistsError,
    MissingFileError,
    PreconditionError,
    StorageError,
    UnclearAnswerError,
)
from pyhudi.storage.objects.answers import NO_RANGE, absent, failure, refusal, said
from pyhudi.storage.objects.clients import obstore_api, obstore_client
from pyhudi.storage.objects.place import Connection, Store
from pyhudi.storage.objects.requests import Kind
from pyhudi.storage.versioned import Versioned

PAGE: Final = 1000
"""Keys in a page of a listing, and files in a bulk delete."""

Count = Callable[..., None]
"""Called with the kind and key of each request, when it is sent."""

_CONFLICT: Final = "ConditionalRequestConflict"
"""S3 says so while another request for the key is under way; whether that makes it is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An object, or what several keys begin with; its key has no slash at its end."""

    key: str
    size_bytes: int
    modified_ms: int
    is_prefix: bool = False
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The last bytes of an object, and how large it is."""

    data: pa.Buffer
    size_bytes: int


class Calls(Protocol):
    """What is asked of a bucket. Keys are whole, prefixes end without a slash.

    Raises: MissingFileError for a key that is not there; UnclearAnswerError where nobody knows
        whether it was done, which includes being told to come back later; StorageError for a
        refusal that will not change.
    """

    def get(self, key: str) -> tuple[bytes, str | None]:
        """A whole object, and the token it was created with."""
        ...

    def opened(self, key: str, tail_bytes: int) -> Tail:
        """Up to so many of its last bytes, for one that is to be read in parts."""
        ...

    def get_range(self, key: str, start: int, length: int) -> pa.Buffer:
        """Some bytes of an object."""
        ...

    def head(self, key: str) -> Entry | None:
        """An object without its bytes; None when it is absent."""
        ...

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Make or replace an object."""
        ...

    def create(self, key: str, data: bytes, token: str) -> None:
        """Make an object unless one is there, and keep a token with it.

        Raises:
            AlreadyExistsError: one is there.
        """
        ...

    def version(self, key: str) -> Versioned:
        """A whole object, and what tells it from others that were and will be there."""
        ...

    def swap(self, key: str, data: bytes, version: str | None) -> str:
        """Replace this version of an object; None makes one where there is none. The next version.

        Raises:
            PreconditionError: another version is there, or one is there, or none.
        """
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Delete up to ``PAGE`` objects; absent ones are fine."""
        ...

    def list(
        self, prefix: str, *, is_deep: bool, after: str | None = None
    ) -> Iterator[list[Entry]]:
        """What lies below a prefix, page by page: objects alone when ``is_deep``.

        Those up to the key ``after`` are left out.
        """
        ...


TOKEN: Final = "pyhuditry"
"""The user metadata that tells whose create made an object; Azure takes no other characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObstoreCalls:
    """Requests by obstore. What the methods do is said by ``Calls``."""

    connection: Connection
    count: Count

    def get(self, key: str) -> tuple[bytes, str | None]:
        """A whole object, and the token it was created with."""
        with self._answer(Kind.GET, key):
            found = self._api.get(self._store, key)
            return found.bytes().to_bytes(), found.attributes.get(TOKEN)

    def opened(self, key: str, tail_bytes: int) -> Tail:
        """Up to so many of its last bytes."""
        if self.connection.store is Store.AZURE:
            return self._opened_by_size(key, tail_bytes)
        try:
            with self._answer(Kind.GET, key):
                found = self._api.get(self._store, key, options={"range": {"suffix": tail_bytes}})
                return Tail(data=pa.py_buffer(found.bytes()), size_bytes=found.meta["size"])
        except StorageError as error:
            if not any(sign in str(error) for sign in NO_RANGE):
                raise
        # An empty object has no range at all.
        data = self.get(key)[0]
        return Tail(data=pa.py_buffer(data), size_bytes=len(data))

    def _opened_by_size(self, key: str, tail_bytes: int) -> Tail:
        """Azure knows no ranges that are counted from the end."""
        found = self.head(key)
        if found is None:
            raise MissingFileError(f"{key} is not there")
        length = min(tail_bytes, found.size_bytes)
        data = (
            self.get_range(key, found.size_bytes - length, length) if length else pa.py_buffer(b"")
        )
        return Tail(data=data, size_bytes=found.size_bytes)

    def get_range(self, key: str, start: int, length: int) -> pa.Buffer:
        """Some bytes of an object."""
        with self._answer(Kind.GET, key):
            data = pa.py_buffer(self._api.get_range(self._store, key, start=start, length=length))
        if data.size != length:
            raise UnclearAnswerError(f"{key} gave {data.size} of {length} bytes at {start}")
        return data

    def head(self, key: str) -> Entry | None:
        """An object without its bytes; None when it is absent."""
        try:
            with self._answer(Kind.HEAD, key):
                return _entry(self._api.head(self._store, key))
        except MissingFileError:
            return None

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Make or replace an object."""
        with self._answer(Kind.PUT, key):
            self._api.put(self._store, key, data, use_multipart=False)

    def create(self, key: str, data: bytes, token: str) -> None:
        """Make an object unless one is there, and keep a token with it."""
        with self._answer(Kind.PUT, key):
            self._api.put(
                self._store,
                key,
                data,
                mode="create",
                attributes={TOKEN: token},
                use_multipart=False,
            )

    def version(self, key: str) -> Versioned:
        """A whole object, and its entity tag or generation."""
        with self._answer(Kind.GET, key):
            found = self._api.get(self._store, key)
            modified = found.meta["last_modified"]
            return Versioned(
                data=found.bytes().to_bytes(),
                version=str(found.meta[self._tag]),
                modified_ms=int(modified.timestamp() * 1000),
            )

    def swap(self, key: str, data: bytes, version: str | None) -> str:
        """Replace this version of an object, once."""
        mode = "create" if version is None else {self._tag: version}
        answers = self._api.exceptions
        with self._answer(Kind.PUT, key):
            try:
                done = self._api.put(self._store, key, data, mode=mode, use_multipart=False)
            except (answers.PreconditionError, FileNotFoundError) as error:
                raise PreconditionError(f"{key} is not what it was") from error
            except answers.AlreadyExistsError as error:
                if _CONFLICT in str(error):
                    raise
                raise PreconditionError(f"{key} is there by now") from error
        return str(done[self._tag])

    def delete(self, keys: Sequence[str]) -> None:
        """Delete some objects; S3 does it at once, others one after another."""
        if self.connection.store is Store.S3:
            with self._answer(Kind.DELETE, keys[0]):
                self._api.delete(self._store, list(keys))
            return
        for key in keys:
            try:
                with self._answer(Kind.DELETE, key):
                    self._api.delete(self._store, key)
            except MissingFileError:  # noqa: PERF203 - a request takes longer
                continue

    def list(
        self, prefix: str, *, is_deep: bool, after: str | None = None
    ) -> Iterator[list[Entry]]:
        """What lies below a prefix."""
        below = f"{prefix}/" if prefix else None
        if not is_deep:
            with self._answer(Kind.LIST, prefix):
                found = self._api.list_with_delimiter(self._store, below)
            entries = [_entry(each) for each in found["objects"]]
            entries += [_prefix(each) for each in found["common_prefixes"]]
            self._count_pages(prefix, len(entries))
            yield entries
            return
        pages = self._api.list(self._store, below, offset=after, chunk_size=PAGE)
        while True:
            with self._answer(Kind.LIST, prefix):
                page = next(pages, None)
            if page is None:
                return
            yield [_entry(each) for each in page]
            if len(page) < PAGE:
                return

    def _count_pages(self, prefix: str, entries: int) -> None:
        more = max(0, -(-entries // PAGE) - 1)
        if more:
            self.count(Kind.LIST, prefix, more)

    @property
    def _api(self) -> Any:
        return obstore_api()

    @property
    def _tag(self) -> str:
        """What obstore calls that which conditional writes compare."""
        return "version" if self.connection.store is Store.GCS else "e_tag"

    @property
    def _store(self) -> Any:
        return obstore_client(self.connection)

    @contextmanager
    def _answer(self, kind: Kind, key: str) -> Iterator[None]:
        """Send one request: counted, and its error one of ours."""
        answers = self._api.exceptions
        self.count(kind, key)
        try:
            yield
        except FileNotFoundError as error:
            raise absent(key, self.connection.shown, str(error)) from error
        except answers.AlreadyExistsError as error:
            if _CONFLICT in str(error):
                raise UnclearAnswerError(said(str(error))) from None
            raise AlreadyExistsError(f"{key} is already there") from None
        except (answers.GenericError, OSError) as error:
            raise failure(self.connection.shown, str(error)) from None
        except (answers.PermissionDeniedError, answers.UnauthenticatedError) as error:
            raise refusal(said(str(error))) from None
        except (answers.BaseError, ValueError) as error:
            raise StorageError(said(str(error))) from None


def _entry(meta: Any) -> Entry:
    return Entry(
        key=meta["path"],
        size_bytes=meta["size"],
        modified_ms=int(meta["last_modified"].timestamp() * 1000),
        tag=meta["e_tag"] or "",
    )


def _prefix(key: str) -> Entry:
    return Entry(key=key.rstrip("/"), size_bytes=0, modified_ms=0, is_prefix=True)
