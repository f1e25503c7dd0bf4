"""A lock that is a file beside the timeline: who creates it holds it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from pyhudi.config.options.locks import EXPIRE_MINUTES, LockConfig
from pyhudi.errors import AlreadyExistsError, LostLockError, MissingFileError, StorageError
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.storage.touch import touch
from pyhudi.storage.versioned import is_flat
from pyhudi.timeline.clock import Clock, new_token
from pyhudi.transaction.lock.lock import HeldLock
from pyhudi.transaction.lock.lock_file import identity_of, is_of, lock_state, lock_text
from pyhudi.transaction.lock.state import LockState
from pyhudi.transaction.lock.waiting import wait_for
from pyhudi.transaction.process import ProcessMark

LOCK_FILE = "lock"
LOCK_FOLDER = ".hoodie"
_SIDECAR = ".lock.crc"
_TOUCHES = 3
"""How often a lock is renewed in the time after which it is anybody's."""
_CLAIM_MS = 600_000
"""How long one who takes a lock away may need; afterwards it counts as dead."""

_log = logging.getLogger(__name__)


class FileSystemLock:
    """The lock of Hudi's FileSystemBasedLockProvider, in its folder of a storage.

    Among writers of this engine at most one holds it, since a storage creates a file for one alone
    and each deletes none but its own. A lock that was left behind is taken away by one at a time,
    who looks again before it deletes. What no storage promises is a deletion of just the file that
    was looked at: who pauses between the two for minutes may delete the file of the next holder,
    which finds out when it confirms. Of the moment between ``confirm`` and the commit nobody can
    promise anything; who commits looks once more afterwards.

    Hudi's own writers are less careful: one that did not get the lock deletes the holder's file
    when it closes (apache/hudi#10412), and two may take one expired lock. A holder whose file is
    gone has lost the lock, and is told so.

    Source: FileSystemBasedLockProvider, Hudi 0.15 to 1.2.
    """

    def __init__(
        self, storage: Storage, config: LockConfig, clock: Clock, *, folder: str = LOCK_FOLDER
    ) -> None:
        self._storage, self._config, self._clock = storage, config, clock
        prefix = f"{folder}/" if folder else ""
        self._path, self._sidecar = prefix + LOCK_FILE, prefix + _SIDECAR
        self._where = storage.absolute(self._path)

    @contextmanager
    def hold(self) -> Iterator[HeldLock]:
        """Wait for the lock, have it, and give it back at the end."""
        token = new_token()
        data = lock_text(token, ProcessMark.here(), self._clock.now_ms())
        wait_for(
            lambda: self._taken(token, data) or None,
            lambda: self.look().told(),
            config=self._config,
            clock=self._clock,
            where=self._where,
        )
        try:
            with self._renewed(data):
                yield _Held(self, token, data)
        finally:
            self._give_back(token)

    def look(self) -> LockState:
        """Who has the lock."""
        found = self._read()
        return LockState(path=self._where, standing="free") if found is None else self._state(found)

    def take_away(self, seen: LockState) -> bool:
        """Delete the lock file that was looked at, whoever holds it; False when it is gone."""
        found = self._read()
        if found is None or self._state(found).owner != seen.owner:
            return False
        if self._state(found).since_ms != seen.since_ms:
            return False
        return self._delete_claimed(found)

    def check(self, token: str, data: bytes) -> None:
        """See to it that the file is there and says this token, and that it will for a while.

        Raises:
            LostLockError: it does not.
        """
        if self._config.expire_minutes:
            touch(self._storage, self._path, data)
        found = self._read()
        if found is None:
            raise LostLockError(
                "the lock file is gone while this writer held it: somebody broke the lock, or a "
                "writer of Hudi's that did not get it deleted it (apache/hudi#10412); retry",
                where=self._where,
            )
        if not is_of(found[1], token):
            raise LostLockError(
                f"the lock of this writer was taken: {self._state(found).told()}; retry, and let "
                f"{EXPIRE_MINUTES.key} be longer than any pause of a writer",
                where=self._where,
            )

    def _taken(self, token: str, data: bytes) -> bool:
        """Whether the lock is this token's now."""
        found = self._read()
        if found is not None and (self._state(found).is_held or not self._delete_claimed(found)):
            return is_of(found[1], token)
        try:
            self._storage.create(self._path, data)
        except AlreadyExistsError:
            # It may be this very request's, if the storage has sent it twice.
            found = self._read()
            if found is None or not is_of(found[1], token):
                return False
        except StorageError:
            # A call that failed may have done its work all the same.
            self._give_back(token)
            raise
        # Of an earlier file; Hadoop would hold the bytes of this one against it.
        if not is_flat(self._storage):
            self._storage.delete(self._sidecar)
        return True

    def _renewed(self, data: bytes) -> AbstractContextManager[None]:
        minutes = self._config.expire_minutes
        if not minutes:
            return nullcontext()

        def renew() -> None:
            try:
                touch(self._storage, self._path, data)
            except StorageError as failure:
                _log.warning("lock not renewed: %s", failure)

        return self._clock.repeating(renew, minutes * 60 / _TOUCHES, "lock-renewal")

    def _give_back(self, token: str) -> None:
        try:
            found = self._read()
            if found is not None and is_of(found[1], token):
                self._storage.delete(self._path)
        except StorageError as failure:
            # What it guarded is done either way; who waits takes it when this process has ended.
            _log.warning("the lock stays behind until this process ends: %s", failure)

    def _read(self) -> tuple[FileStatus, bytes] | None:
        """The lock file; None when there is none."""
        status = self._storage.status(self._path)
        if status is None:
            return None
        try:
            return status, self._storage.read(self._path)
        except MissingFileError:
            return None

    def _state(self, found: tuple[FileStatus, bytes]) -> LockState:
        return lock_state(
            self._where,
            *found,
            now_ms=self._clock.now_ms(),
            expire_minutes=self._config.expire_minutes,
        )

    def _delete_claimed(self, found: tuple[FileStatus, bytes]) -> bool:
        """Delete a lock file if it is the same still; of several who are about to, one does."""
        began_ms = self._clock.monotonic_ms()
        claims = self._claims(identity_of(*found))
        if not claims:
            return False
        try:
            again = self._read()
            is_quick = self._clock.monotonic_ms() - began_ms < _CLAIM_MS // 2
            if again is None or identity_of(*again) != identity_of(*found) or not is_quick:
                return again is None
            _log.warning("took away a lock: %s", self._state(found).told())
            self._storage.delete(self._path)
            return True
        finally:
            for claim in claims:
                self._storage.delete(claim)

    def _claims(self, identity: str) -> tuple[str, ...]:
        """Files that say who deletes the lock file, this writer's first; none when another does.

        One who claimed it and died is passed over, by a claim with the next number.
        """
        folder = self._path[: -len(LOCK_FILE)]
        before: list[str] = []
        while True:
            claim = f"{folder}.{LOCK_FILE}.{identity}.{len(before)}"
            try:
                self._storage.create(claim, ProcessMark.here().to_bytes())
            except AlreadyExistsError:
                if not self._is_dead(claim):
                    return ()
                before.append(claim)
            else:
                return (claim, *before)

    def _is_dead(self, claim: str) -> bool:
        status = self._storage.status(claim)
        if status is None:
            return False
        if self._clock.now_ms() - status.modified_ms > _CLAIM_MS:
            return True
        try:
            owner = ProcessMark.from_bytes(self._storage.read(claim))
        except MissingFileError:
            return False
        return owner is not None and owner.is_gone()


class _Held:
    """The lock while its file carries the token of this holder."""

    def __init__(self, lock: FileSystemLock, token: str, data: bytes) -> None:
        self._lock, self._token, self._data = lock, token, data

    def confirm(self) -> None:
        """See to it that the lock is this writer's still."""
        self._lock.check(self._token, self._data)
