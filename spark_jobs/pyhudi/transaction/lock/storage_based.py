"""A lock that is a lease in an object store: who replaces the object that it read holds it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pyhudi.config.options.locks import VALIDITY_S, LockConfig
from pyhudi.errors import (
    LockError,
    LostLockError,
    MissingFileError,
    PreconditionError,
    StorageError,
    UnclearAnswerError,
    UnsupportedError,
)
from pyhudi.storage.storage import Storage
from pyhudi.storage.versioned import Versioned, VersionedStorage
from pyhudi.timeline.clock import Clock, about, new_token
from pyhudi.transaction.lock.audit import LockAudit, is_audited
from pyhudi.transaction.lock.lease import Lease, ends_too_soon, lease_state
from pyhudi.transaction.lock.lock import HeldLock
from pyhudi.transaction.lock.state import LockState
from pyhudi.transaction.lock.waiting import wait_for
from pyhudi.transaction.process import ProcessMark

LOCK_OBJECT: Final = ".hoodie/.locks/table_lock.json"
_RENEWALS: Final = 4
"""How often a holder whose renewals meet one another tries, until one counts."""
_PAUSES_S: Final = (0.0, 0.1, 1.0, 2.0, 4.0)
"""Before each try to give the lock back, or to renew it at last.

Source: StorageBasedLockProvider of Hudi 1.2, which tries an unlock three times more.
"""

_log = logging.getLogger(__name__)


class StorageLock:
    """The lock of Hudi's StorageBasedLockProvider.

    The object is replaced only by those who have read it as it is, so that at most one holds it.
    Its holder renews it from a thread, and once more when it confirms: whoever comes out of a pause
    and finds that another has replaced it has lost it, by whichever clock that one went. The time
    until which it holds is counted from when it was taken, and no clock that is set meanwhile moves
    it.

    A call that had no answer may have been carried out. One that was to take the lock counts as
    failed, and what it left is given back; one that was to renew it counts when a second one
    succeeds (RFC-91).

    Source: StorageBasedLockProvider, Hudi 1.0.2 to 1.2; what is written is what 1.1 writes.
    """

    def __init__(
        self, storage: Storage, store: VersionedStorage, config: LockConfig, clock: Clock
    ) -> None:
        self._storage, self.store = storage, store
        self.config, self.clock = config, clock
        self.where = storage.absolute(LOCK_OBJECT)

    @contextmanager
    def hold(self) -> Iterator[HeldLock]:
        """Wait for the lock, have it, and give it back at the end."""
        held = _Held(self)
        try:
            wait_for(
                lambda: held.take() or None,
                lambda: self.look().told(),
                config=self.config,
                clock=self.clock,
                where=self.where,
            )
        except LockError:
            held.disown()
            raise
        try:
            with self.clock.repeating(held.keep, self.config.renew_s, "lock-renewal"):
                yield held
        finally:
            held.give_back()

    def look(self) -> LockState:
        """Who has the lock."""
        found = self.read()
        if found is None:
            return LockState(path=self.where, standing="free")
        return lease_state(self.where, found, now_ms=self.clock.now_ms())

    def take_away(self, seen: LockState) -> bool:
        """End the lease that was looked at, whoever holds it; False when it is another by now.

        An object that makes no sense is replaced by the lease of nobody.
        """
        found = self.read()
        if found is None or lease_state(self.where, found, now_ms=0).owner != seen.owner:
            return False
        lease = Lease.from_bytes(found.data)
        over = Lease(
            is_over=True,
            until_ms=0 if lease is None else lease.until_ms,
            owner="" if lease is None else lease.owner,
        )
        try:
            self.store.put_if(LOCK_OBJECT, over.to_bytes(), found.version)
        except PreconditionError:
            return False
        return True

    def read(self) -> Versioned | None:
        """The lock's object; None when there is none."""
        try:
            return self.store.read_versioned(LOCK_OBJECT)
        except MissingFileError:
            return None

    def audit(self, owner: str, started_ms: int) -> LockAudit | None:
        """Where a holder notes what it does; None where the table does not ask for it."""
        if not self._is_audited:
            return None
        return LockAudit(self._storage, owner, started_ms, self.config.validity_s * 1000)

    @cached_property
    def _is_audited(self) -> bool:
        return is_audited(self._storage)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    """A version of the object that this holder wrote, and how long it holds by two clocks."""

    version: str
    until_ms: int
    until_monotonic_ms: int


class _Held:
    """What one who wants the lock, has it and gives it back knows of it."""

    def __init__(self, lock: StorageLock) -> None:
        self._lock, self._clock = lock, lock.clock
        self._validity_ms = lock.config.validity_s * 1000
        self._owner, self._process = new_token(), ProcessMark.here()
        self._since_ms = self._since_monotonic_ms = 0
        self._grant: _Grant | None = None
        self._lost: LostLockError | None = None
        self._audit: LockAudit | None = None

    def take(self) -> bool:
        """Whether the lock is this one's now.

        Raises:
            UnsupportedError: a writer takes part that cannot keep a lease.
        """
        found = self._lock.read()
        if found is not None:
            if self._is_own(found):
                self.disown()
                return False
            now_ms = self._clock.now_ms()
            state = lease_state(self._lock.where, found, now_ms=now_ms)
            if ends_too_soon(found, now_ms=now_ms, renew_s=self._lock.config.renew_s):
                raise self._no_lease(state)
            if state.is_held:
                return False
            if state.standing != "free":
                _log.warning("took away a lock: %s", state.told())
        self._since_ms, self._since_monotonic_ms = self._clock.now_ms(), self._clock.monotonic_ms()
        try:
            self._grant = self._put(None if found is None else found.version)
        except PreconditionError:
            return False
        except UnclearAnswerError:
            # Others would wait for one that does not know that it has the lock.
            self.disown()
            return False
        self._audit = self._lock.audit(self._owner, self._since_ms)
        if self._audit:
            self._audit.note("START", self._since_ms)
        return True

    def disown(self) -> None:
        """Give back what a call without an answer took after all."""
        found = self._lock.read()
        if found is None or not self._is_own(found):
            return
        lease = Lease.from_bytes(found.data)
        try:
            self._give(lease.until_ms if lease else 0, found.version)
        except (PreconditionError, UnclearAnswerError) as failure:
            _log.warning("a lease that nobody holds stays until it ends: %s", failure)

    def keep(self) -> None:
        """Renew the lease, unless it is lost; called from time to time."""
        if self._lost is not None:
            return
        try:
            self._renew()
        except LostLockError as lost:
            _log.error("%s", lost)
        except StorageError as failure:
            _log.warning("lock not renewed: %s", failure)

    def confirm(self) -> None:
        """See to it that the lock is this writer's still, and renew it."""
        for pause_s in _PAUSES_S:
            if self._lost is not None:
                raise self._lost
            if pause_s:
                self._clock.sleep(about(pause_s))
            try:
                self._renew()
            except UnclearAnswerError as failure:
                _log.warning("lock not renewed: %s", failure)
                if self._is_surely_valid():
                    return
            else:
                return
        raise LostLockError(
            f"the lock could not be renewed, and its lease of {self._lock.config.validity_s} s is "
            f"all but over; retry, and let {VALIDITY_S.key} be longer than any pause of a writer",
            where=self._lock.where,
        )

    def give_back(self) -> None:
        """End the lease, so that nobody waits for its time."""
        grant = self._grant
        if grant is None or self._lost is not None:
            return
        version = grant.version
        for pause_s in _PAUSES_S:
            if pause_s:
                self._clock.sleep(about(pause_s))
            try:
                self._give(grant.until_ms, version)
                break
            except PreconditionError:
                found = self._read_quietly()
                if found is None or not self._is_own(found):
                    break
                version = found.version
            except StorageError as failure:
                _log.warning("lock not given back: %s", failure)
        if self._audit:
            self._audit.note("END", self._clock.now_ms())

    def _renew(self) -> None:
        """Replace the object that this holder wrote by one that holds for longer.

        Raises:
            LostLockError: another has replaced it.
            UnclearAnswerError: nobody knows.
        """
        grant = self._grant
        version = None if grant is None else grant.version
        for _ in range(_RENEWALS):
            try:
                self._grant = self._put(version)
            except PreconditionError:  # noqa: PERF203 - a request takes longer
                # An earlier renewal that had no answer may have succeeded; this one has to.
                found = self._lock.read()
                if found is None or not self._is_own(found):
                    break
                version = found.version
            else:
                if self._audit:
                    self._audit.note("RENEW", self._now_ms())
                return
        self._lost = LostLockError(
            f"the lock of this writer was taken: {self._lock.look().told()}; retry, and let "
            f"{VALIDITY_S.key} be longer than any pause of a writer",
            where=self._lock.where,
        )
        raise self._lost

    def _is_surely_valid(self) -> bool:
        """Whether the lease holds for a while, by a clock that nobody sets."""
        grant = self._grant
        margin_ms = self._validity_ms // 10
        return grant is not None and (
            self._clock.monotonic_ms() < grant.until_monotonic_ms - margin_ms
        )

    def _put(self, version: str | None) -> _Grant:
        until_ms = self._now_ms() + self._validity_ms
        until_monotonic_ms = self._clock.monotonic_ms() + self._validity_ms
        written = self._lock.store.put_if(
            LOCK_OBJECT, self._lease(until_ms, is_over=False).to_bytes(), version
        )
        return _Grant(version=written, until_ms=until_ms, until_monotonic_ms=until_monotonic_ms)

    def _give(self, until_ms: int, version: str) -> None:
        data = self._lease(until_ms, is_over=True).to_bytes()
        self._lock.store.put_if(LOCK_OBJECT, data, version)

    def _lease(self, until_ms: int, *, is_over: bool) -> Lease:
        return Lease(
            is_over=is_over,
            until_ms=until_ms,
            owner=self._owner,
            since_ms=self._since_ms,
            process=self._process,
        )

    def _is_own(self, found: Versioned) -> bool:
        """Whether the object says that this one holds the lock."""
        lease = Lease.from_bytes(found.data)
        return lease is not None and lease.owner == self._owner and not lease.is_over

    def _read_quietly(self) -> Versioned | None:
        try:
            return self._lock.read()
        except StorageError as failure:
            _log.warning("lock not given back: %s", failure)
            return None

    def _now_ms(self) -> int:
        """The time by the clock as it was set when the lock was taken."""
        return self._since_ms + self._clock.monotonic_ms() - self._since_monotonic_ms

    def _no_lease(self, state: LockState) -> UnsupportedError:
        return UnsupportedError(
            f"the lease of owner {state.owner} ended when it was written: that is what Hudi 1.0.2 "
            "writes, whose StorageBasedLockProvider keeps nobody out. Let all writers be of 1.1 or "
            "later, or take FileSystemBasedLockProvider; if they are, the clock of that one is "
            "behind by minutes, and has to be set",
            where=self._lock.where,
        )
