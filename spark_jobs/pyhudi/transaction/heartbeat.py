"""The sign of life of a writer.

Source: HoodieHeartbeatClient, Hudi 0.15 and 1.1: a file ``.hoodie/.heartbeat/<instant>`` whose
modification time is renewed at each interval and which is gone when the write has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import AlreadyExistsError, MissingFileError, StorageError
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock
from pyhudi.transaction.process import ProcessMark

HEARTBEATS = ".hoodie/.heartbeat"
"""The folder of heartbeats."""

_STAYS = "the heartbeat stays behind until it expires: %s"
_log = logging.getLogger(__name__)


class Heartbeat:
    """Keeps a heartbeat that was started fresh by the clock, and deletes it when it is left.

    The file's text tells the process, where Hudi writes and reads nothing: a writer that died on
    this very machine is known to be dead at once.

    Units: ``started_ms`` is a moment before it was started, on the clock that nobody sets.
    """

    def __init__(
        self,
        storage: Storage,
        instant: str,
        config: HeartbeatConfig,
        clock: Clock,
        *,
        started_ms: int | None = None,
    ) -> None:
        self._storage, self._path, self._clock = storage, _path(instant), clock
        self._renewed_ms = clock.monotonic_ms() if started_ms is None else started_ms
        self._expires_ms = config.expires_ms
        self._longest_ms = 0
        self._beating = clock.repeating(
            self._beat, config.interval_ms / 1000, f"heartbeat-{instant}"
        )

    def __enter__(self) -> Heartbeat:
        self._beating.__enter__()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._beating.__exit__(None, None, None)
        try:
            self._storage.delete(self._path)
        except StorageError as failure:
            # The write has ended either way; a stale heartbeat only expires later.
            _log.warning(_STAYS, failure)

    @property
    def is_fresh(self) -> bool:
        """Whether nobody can have taken the writer for dead, whatever the clocks of others say."""
        return self._clock.monotonic_ms() - self._renewed_ms < self._expires_ms

    @property
    def longest_silence_ms(self) -> int:
        """The longest time for which it was not renewed, that until now among them."""
        return max(self._longest_ms, self._clock.monotonic_ms() - self._renewed_ms)

    @property
    def has_lapsed(self) -> bool:
        """Whether there was a time when others could take the writer for dead.

        It may be renewed since: a process that was suspended renews it before it does anything.
        """
        return self.longest_silence_ms >= self._expires_ms

    def _beat(self) -> None:
        self._longest_ms = self.longest_silence_ms
        before_ms = self._clock.monotonic_ms()
        try:
            self._storage.put(self._path, ProcessMark.here().to_bytes())
        except StorageError as failure:
            _log.warning("heartbeat not renewed: %s", failure)
        else:
            self._renewed_ms = before_ms


def start_heartbeat(storage: Storage, instant: str) -> bool:
    """Make the heartbeat of an instant, before it is requested; False when it has one."""
    try:
        storage.create(_path(instant), ProcessMark.here().to_bytes())
    except AlreadyExistsError:
        return False
    except StorageError:
        # A call that failed may have done its work all the same.
        give_heartbeat_up(storage, instant)
        raise
    return True


def give_heartbeat_up(storage: Storage, instant: str) -> None:
    """Delete a heartbeat that was started in vain; one that cannot be deleted expires."""
    try:
        delete_heartbeat(storage, instant)
    except StorageError as failure:
        _log.warning(_STAYS, failure)


def names_beside_heartbeats(storage: Storage) -> tuple[str, ...]:
    """The names of all files in the folder of heartbeats."""
    return tuple(found.name for found in storage.list(HEARTBEATS))


def instants_with_heartbeat(names: Iterable[str]) -> tuple[str, ...]:
    """The instants that have a heartbeat, fresh or not, by the names in their folder."""
    return tuple(name for name in names if not name.startswith("."))


def is_alive(storage: Storage, instant: str, *, now_ms: int, config: HeartbeatConfig) -> bool:
    """Whether the writer of a pending instant still lives.

    No heartbeat file means no: Hudi's single writers keep none and roll back whatever is pending
    (failed-writes policy EAGER).
    """
    status = storage.status(_path(instant))
    if status is None:
        return False
    if now_ms - status.modified_ms > config.expires_ms:
        return False
    try:
        owner = ProcessMark.from_bytes(storage.read(_path(instant)))
    except MissingFileError:
        # The writer ended in this very moment.
        return False
    return owner is None or not owner.is_gone()


def owner_of(storage: Storage, instant: str) -> ProcessMark | None:
    """The process that writes at an instant, where its heartbeat tells."""
    try:
        return ProcessMark.from_bytes(storage.read(_path(instant)))
    except MissingFileError:
        return None


def delete_heartbeat(storage: Storage, instant: str) -> None:
    """Delete the heartbeat of a writer that has ended, or is known to be dead."""
    storage.delete(_path(instant))


def _path(instant: str) -> str:
    return f"{HEARTBEATS}/{instant}"
