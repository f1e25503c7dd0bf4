"""Spans in which others are kept out, and whose turn it is to run what is planned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyhudi.config.table import TableType
from pyhudi.errors import ConflictError
from pyhudi.timeline.instant import Action, Instant
from pyhudi.transaction.exclusion import Alone, Writer, at_work, live_writers
from pyhudi.transaction.heartbeat import delete_heartbeat, start_heartbeat
from pyhudi.transaction.instant_run import InstantRun


@contextmanager
def nobody_writing(writer: Writer) -> Iterator[str]:
    """A span in which no other writer can begin: an instant, given here, is withdrawn at its end.

    Where writers go on beside each other, the lock is held instead, and no instant is given.

    Raises:
        ConflictError: another writer is at work.
    """
    if writer.gate.is_shared:
        with nobody_committing(writer):
            if alive := live_writers(writer):
                raise at_work(writer, alive)
            yield ""
        return
    is_delta = writer.table.config.table_type is TableType.MERGE_ON_READ
    # Hudi undoes a dead one by the action that writes of the table have, and sees no other.
    action = Action.DELTA_COMMIT if is_delta else Action.COMMIT
    with InstantRun(writer, action, exclusion=Alone(passes_dead=True)) as lock:
        try:
            yield lock.instant
        finally:
            lock.withdraw()


@contextmanager
def nobody_committing(writer: Writer) -> Iterator[str]:
    """A span in which no other writer begins or commits; those that are at work go on.

    Where writers keep each other out, none is at work either. It gives what the other span does.

    Raises:
        ConflictError: others are in the way for too long.
    """
    if writer.gate.is_shared:
        with writer.gate.hold():
            yield ""
        return
    with nobody_writing(writer) as own:
        yield own


def take_heartbeat(writer: Writer, instant: Instant) -> None:
    """Start the heartbeat of a planned instant, or take it from a run that died.

    Raises:
        ConflictError: another job runs it.
    """
    storage = writer.storage
    busy = ConflictError(
        f"another job runs {instant.action.value} {instant.time}; retry when it has ended",
        where=storage.uri,
    )
    if start_heartbeat(storage, instant.time):
        return
    if writer.is_alive(instant.time):
        raise busy
    # Of several that find it dead only one may take it, so nobody else may be here.
    with nobody_committing(writer):
        if writer.is_alive(instant.time):
            raise busy
        delete_heartbeat(storage, instant.time)
        if not start_heartbeat(storage, instant.time):
            raise busy
