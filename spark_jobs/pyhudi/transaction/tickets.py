"""Tickets of those who wait to write a table: who came first goes first.

A ticket is a hidden file beside the heartbeats, whose name says when its owner came and until when
it waits, and whose text names the process. Whoever begins a write lists that folder anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyhudi.errors import MissingFileError
from pyhudi.storage.storage import Storage
from pyhudi.timeline.clock import new_file_id_prefix
from pyhudi.transaction.heartbeat import HEARTBEATS, names_beside_heartbeats
from pyhudi.transaction.process import ProcessMark

_NAME = re.compile(r"\.waiting-(\d{13})-(\d{13})-([0-9a-f]{8})")


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Ticket:
    """A place in the queue, ordered by it.

    Units: milliseconds since 1970 in UTC.
    """

    came_ms: int
    until_ms: int
    id: str

    @property
    def path(self) -> str:
        """The file of the ticket."""
        return f"{HEARTBEATS}/.waiting-{self.came_ms:013d}-{self.until_ms:013d}-{self.id}"


def take_ticket(storage: Storage, *, came_ms: int, until_ms: int) -> Ticket:
    """Join the queue, in the place of one who came at a time."""
    ticket = Ticket(came_ms=came_ms, until_ms=until_ms, id=new_file_id_prefix()[:8])
    storage.create(ticket.path, ProcessMark.here().to_bytes())
    return ticket


def tickets_among(names: Iterable[str]) -> tuple[Ticket, ...]:
    """The tickets among the names of the files beside the heartbeats, the first to go first."""
    found = filter(None, map(_NAME.fullmatch, names))
    return tuple(
        sorted(Ticket(came_ms=int(each[1]), until_ms=int(each[2]), id=each[3]) for each in found)
    )


class Queue:
    """Those who wait to write a table, as one of them sees them.

    Each ticket is read once.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._owners: dict[Ticket, ProcessMark | None] = {}

    def ahead_of(self, own: Ticket, now_ms: int) -> int:
        """How many go before the owner of a ticket.

        Tickets of processes that are gone, and of those that should have ended by now, are deleted.
        """
        tickets = tickets_among(names_beside_heartbeats(self._storage))
        ahead = [ticket for ticket in tickets if ticket < own]
        for ticket in [ticket for ticket in ahead if self._is_void(ticket, now_ms)]:
            self._storage.delete(ticket.path)
            ahead.remove(ticket)
        return len(ahead)

    def _is_void(self, ticket: Ticket, now_ms: int) -> bool:
        if ticket not in self._owners:
            try:
                found = ProcessMark.from_bytes(self._storage.read(ticket.path))
            except MissingFileError:
                return True
            self._owners[ticket] = found
        owner = self._owners[ticket]
        return ticket.until_ms < now_ms or (owner is not None and owner.is_gone())
