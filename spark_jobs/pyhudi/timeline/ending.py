"""When an instant ends, agreed on by all who end it.

In layout 2 the name of a completed file tells when that was, so that two who complete one instant
would make two files: a writer whose call had no answer, or those who finish one rollback at once.
Whoever ends an instant therefore notes the time first, in a file of which there is one::

    .hoodie/.heartbeat/.ending-<instant>-<action>      its text is the completion time

and whoever finds one takes the time that it says. The note goes when the instant is completed; it
lies where Hudi looks for nothing, beside the heartbeats that writers list anyway.

Where writers go on beside each other these times say who came first, so they have to rise in the
order in which the instants appear. Whoever ends a write there is alone in it and notes nothing: it
draws again whenever others may have ended since, after a lost lock or where a later time is seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pyhudi.config.table import TimelineZone
from pyhudi.errors import AlreadyExistsError, CorruptTableError, MissingFileError, StorageError
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import Clock, next_instant_time, wait_until_after
from pyhudi.timeline.instant import Instant, State
from pyhudi.timeline.timeline import Timeline

_FOLDER = ".hoodie/.heartbeat"
_TRIES = 20
_NAME = re.compile(r"\.ending-(\d+)-([a-z]+)")
_TIME = re.compile(r"\d{17}")


def agreed_ending(
    storage: Storage,
    instant: Instant,
    zone: TimelineZone,
    clock: Clock,
    load: Callable[[], Timeline],
) -> Instant:
    """The completed instant, with a time that all who complete it agree on.

    It is later than all on the timeline, which ``load`` lists, and the clock has passed it: who
    begins afterwards draws a later one, also where that one does not look, as Hudi does not.

    Source: SkewAdjustingTimeGenerator, Hudi 1.1, whose single writers wait a millisecond.
    """
    for _ in range(_TRIES):
        latest = load().latest_time or ""
        drawn = next_instant_time(clock, zone, max(latest, instant.time))
        at = note_ending(storage, instant, drawn)
        # Whoever completed it took the note away afterwards: one of the two is seen.
        done = completed_among(load(), instant)
        if done is not None:
            return done
        if at is not None:
            wait_until_after(clock, at, zone)
            return instant.in_state(State.COMPLETED, at)
    raise StorageError(
        f"what is noted of the end of {instant.time} goes whenever it is asked for; retry",
        where=storage.uri,
    )


def rising_ending(
    instant: Instant,
    zone: TimelineZone,
    clock: Clock,
    load: Callable[[], Timeline],
    skew_ms: int,
) -> Instant:
    """The completed instant, with a time that is later than that of whatever is completed by now.

    To be called with the lock held, by the only one who ends the instant. The clock has passed the
    time by more than other clocks differ: who draws afterwards draws a later one without a look.

    Units: ``skew_ms`` in milliseconds.

    Raises:
        StorageError: others end instants whenever this one is about to, as the lock keeps nobody
            out, or the storage failed.
    Source: SkewAdjustingTimeGenerator, Hudi 1.0 to 1.2; BaseHoodieWriteClient.commitStats, which
        draws and completes under one hold of the lock.
    """
    for _ in range(_TRIES):
        latest = load().latest_time or ""
        drawn = next_instant_time(clock, zone, max(latest, instant.time))
        wait_until_after(clock, drawn, zone, skew_ms)
        now = load()
        if max(now.completions().values(), default="") < drawn:
            return completed_among(now, instant) or instant.in_state(State.COMPLETED, drawn)
    raise StorageError(
        f"others complete instants whenever {instant.time} is about to be, and the lock does not "
        "keep them out; retry"
    )


def completed_among(timeline: Timeline, instant: Instant) -> Instant | None:
    """An instant as a timeline has it, if it is completed there."""
    found = (each for each in timeline if each.identity == instant.identity)
    return next((each for each in found if each.is_completed), None)


def note_ending(storage: Storage, instant: Instant, at: str) -> str | None:
    """The time at which an instant ends: the one given, or the one that others have noted.

    None where others have taken their note away meanwhile: they have ended it, or undone it.
    """
    path = _path(instant)
    try:
        storage.create(path, at.encode())
    except StorageError as error:
        # A call without an answer may have done its work.
        try:
            return _read(storage, path)
        except MissingFileError:
            if isinstance(error, AlreadyExistsError):
                return None
            raise error from None
    return at


def forget_ending(storage: Storage, instant: Instant) -> None:
    """Take the note of an instant away that is completed, or undone."""
    storage.delete(_path(instant))


def sweep_endings(storage: Storage, names: Iterable[str], timeline: Timeline) -> None:
    """Take the notes away of which nobody needs to know; ``names`` lie beside the heartbeats.

    To be called with a timeline that was loaded after the names were listed. The note of a
    savepoint stays until that is completed: it is made where its write is on the timeline.
    """
    known = {instant.identity: instant for instant in timeline}
    times = {instant.time for instant in timeline}
    for name in names:
        found = _NAME.fullmatch(name)
        if found is None:
            continue
        time, action = found.groups()
        instant = known.get((time, action))
        is_over = instant.is_completed if instant is not None else time not in times
        if is_over:
            storage.delete(f"{_FOLDER}/{name}")


def _path(instant: Instant) -> str:
    time, action = instant.identity
    return f"{_FOLDER}/.ending-{time}-{action}"


def _read(storage: Storage, path: str) -> str:
    text = storage.read(path).decode("ascii", "replace")
    if _TIME.fullmatch(text) is None:
        raise CorruptTableError(
            f"it says {text[:40]!r}, which is no instant; delete it, and retry",
            where=storage.absolute(path),
        )
    return text
