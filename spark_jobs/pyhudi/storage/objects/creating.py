"""Creating an object only if it is absent, whatever the store answers, or does not.

Every create carries a token of its own in the object's user metadata, so that whoever had no clear
answer can look whose object it is, empty ones included. Readers of tables do not see it.
"""

from __future__ import annotations

import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pyhudi.errors import (
    AlreadyExistsError,
    MissingFileError,
    StorageError,
    UnclearAnswerError,
    UnsupportedError,
)
from pyhudi.storage.objects.calls import Calls
from pyhudi.storage.objects.patience import patiently, tries
from pyhudi.storage.objects.place import Connection, Place, Store

_PROBES: Final = ".hoodie/.aux"
_WHAT_TO_DO: Final = {
    Store.S3: "Use a store that honours If-None-Match on PutObject: Amazon S3, versitygw, MinIO, "
    "Ceph and others of late versions do; an older one may need an update, and a proxy before it "
    "must pass the header on",
    Store.GCS: "Use Google Cloud Storage itself, which honours x-goog-if-generation-match",
    Store.AZURE: "Use Azure Blob Storage or ADLS Gen2, which honour If-None-Match",
}
_NO_SUCH_HEADER: Final = ("status code: 400", "status code: 405", "status code: 501")

_lock = threading.Lock()
_honoured: set[Connection] = set()
"""The buckets that were probed by this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Creator:
    """Creates objects, on a store that was probed before the first one."""

    place: Place
    calls: Calls

    def create(self, path: str, data: bytes) -> None:
        """Make a file with these bytes unless one is there.

        Raises:
            AlreadyExistsError: another caller has made it.
            StorageError: it is not known whether it was made, or it was not.
            UnsupportedError: the store does not honour the condition.
        Guarantees: of several callers exactly one succeeds; a call that had no clear answer and
            was carried out all the same succeeds.
        """
        self._probe()
        self._create(self.place.key(path), data)

    def _create(self, key: str, data: bytes) -> None:
        token, unclear = secrets.token_hex(16), None
        for missed in tries():
            answer = self._try(key, data, token)
            if answer is None:
                return
            if isinstance(answer, AlreadyExistsError):
                if unclear is None:
                    raise answer
                break
            # It may have been carried out, or be under way: the next try then finds it.
            unclear = answer
            missed(answer)
        self._settle(key, data, token, unclear)

    def _try(
        self, key: str, data: bytes, token: str
    ) -> AlreadyExistsError | UnclearAnswerError | None:
        try:
            self.calls.create(key, data, token)
        except (AlreadyExistsError, UnclearAnswerError) as answer:
            return answer
        return None

    def _settle(
        self, key: str, data: bytes, token: str, unclear: UnclearAnswerError | None
    ) -> None:
        """Whose object is at the key, after a create of ours that had no clear answer."""
        try:
            found, theirs = patiently(lambda: self.calls.get(key))
        except MissingFileError:
            raise StorageError(f"it did not appear: {unclear}") from unclear
        if theirs == token and found == data:
            return
        if theirs is None and found == data:
            raise StorageError(
                f"{key} has the bytes that were to be written, and nothing tells who wrote them: "
                f"{unclear}"
            ) from unclear
        raise AlreadyExistsError(f"{key} is already there") from unclear

    def _probe(self) -> None:
        """Find out whether a second create is refused, once in a process.

        Raises:
            UnsupportedError: it is not.
        """
        connection = self.place.connection
        if connection in _honoured:
            return
        key = self.place.key(f"{_PROBES}/.pyhudi-probe-{secrets.token_hex(8)}")
        try:
            self._create(key, b"")
            is_refused = self._is_refused(key)
        except StorageError as error:
            if not any(sign in str(error) for sign in _NO_SUCH_HEADER):
                raise
            raise UnsupportedError(
                f"{connection.shown} refuses conditional writes: {error}. "
                f"{_WHAT_TO_DO[connection.store]}. Reading works"
            ) from error
        finally:
            with suppress(StorageError):
                patiently(lambda: self.calls.delete([key]))
        if not is_refused:
            raise UnsupportedError(
                f"{connection.shown} does not honour conditional writes: a file that was there was "
                "written over, although it was to be created only if absent. Two writers could "
                f"commit the same instant there. {_WHAT_TO_DO[connection.store]}. Reading works"
            )
        with _lock:
            _honoured.add(connection)

    def _is_refused(self, key: str) -> bool:
        token = secrets.token_hex(16)
        try:
            patiently(lambda: self.calls.create(key, b"", token))
        except AlreadyExistsError:
            return True
        return False
