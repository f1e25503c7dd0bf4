"""What archiving does to the history of a table of layout 2.

Source: TimelineArchiverV2, Hudi 1.0 and 1.1.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby

from pyhudi.actions.history_row import HistoryRow, planned_in
from pyhudi.actions.plain import PlainBody
from pyhudi.errors import AlreadyExistsError, CorruptTableError, MissingFileError, located
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.history import Listing
from pyhudi.table.history_writing import Base, append, base_of, known_instants, merge_levels, sweep
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline, StateFile
from pyhudi.timeline.instant import State

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptInHistory:
    """What was added: how many files, and their bytes.

    ``base`` is what the history was afterwards, ``seen`` what lay there before.
    """

    archives: int
    bytes_written: int
    base: Base = field(repr=False)
    seen: Listing = field(repr=False)


def keep_in_history(
    table: Table, files: Sequence[StateFile], *, fails_on_unreadable: bool
) -> KeptInHistory:
    """Add the instants of these files to the history, but for those that it has.

    Raises:
        AlreadyExistsError: another archiver was faster.
        CorruptTableError: a file of an instant cannot be read, or the history is damaged.
        MissingFileError: another archiver has taken an instant, or a file, away.
    """
    history = ArchivedTimeline.of(table.storage, table.config).history
    base = base_of(history)
    known = known_instants(history, base, files[0].instant.time, files[-1].instant.time)
    rows = [
        _row_of(table.active, tuple(own), fails_on_unreadable=fails_on_unreadable)
        for identity, own in groupby(files, lambda file: file.instant.identity)
        if identity not in known
    ]
    after = append(history, base, rows)
    made = [file for file in after.manifest.files if file.name not in base.manifest.names]
    return KeptInHistory(
        archives=len(made),
        bytes_written=sum(file.size_bytes for file in made),
        base=after,
        seen=base.listing,
    )


def tidy_history(table: Table, kept: KeptInHistory, gone: Collection[str]) -> None:
    """Merge what has become many files, and delete what nobody names any more.

    ``gone`` are the times of the instants that have left the timeline.
    """
    history = ArchivedTimeline.of(table.storage, table.config).history
    left = {each.time for each in table.timeline if each.time not in gone}
    # Another archiver is at work, which does the same.
    with suppress(AlreadyExistsError, MissingFileError):
        _, merged = merge_levels(history, kept.base)
        sweep(history, kept.seen, merged, left)


def _row_of(
    active: ActiveTimeline, files: Iterable[StateFile], *, fails_on_unreadable: bool
) -> HistoryRow:
    """The row of an instant, of whose states these are the files."""
    states = {file.instant.state.name: file for file in files}
    done = states[State.COMPLETED.name].instant
    begun = next((states[name] for name in ("REQUESTED", "INFLIGHT") if name in states), None)
    body = active.read_body(done)
    plan = b""
    for state in planned_in(begun.instant.action.value) if begun else ():
        if state in states:
            plan = active.read_body(states[state].instant) or plan
    try:
        with located(f"{active.storage.uri} at {done.time}"):
            PlainBody.from_bytes(body)
    except CorruptTableError as error:
        if fails_on_unreadable:
            raise
        _log.warning("an instant is archived without what its file says: %s", error)
        body = b""
    return HistoryRow(
        time=done.time,
        completion_time=done.completion_time,
        action=done.action.value,
        metadata=body or None,
        plan=plan or None,
    )
