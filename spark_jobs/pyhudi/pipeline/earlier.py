"""What of a request was committed before it: by an earlier try, or for its slot."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from pyhudi.config.instant_text import AskedInstant
from pyhudi.config.options.operations import ON_EXISTING, OnExisting
from pyhudi.config.write import WriteConfig
from pyhudi.errors import TableChangedError, UnsupportedError
from pyhudi.table.committed import (
    SLOT_STAMP,
    STAMP,
    EarlierCommit,
    find_committed,
    find_of_slot,
    look_back,
)
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The commit that stands for a request, if any, and those whose rows are to go for it."""

    commit: EarlierCommit | None = None
    replaced: tuple[EarlierCommit, ...] = ()

    def told_to(self, config: WriteConfig) -> WriteConfig:
        """The write, which replaces the rows of its slot where there are some."""
        asked = config.idempotency
        slot = replace(asked.slot, is_replaced=bool(self.replaced))
        return replace(config, idempotency=replace(asked, slot=slot))

    def check_nothing_to_replace(self, path: str) -> None:
        """Refuse to go on where commits of the slot came while the write was prepared.

        Raises:
            TableChangedError: there are some; the write is to be prepared again.
        """
        if self.replaced:
            raise TableChangedError(
                f"instant {self.replaced[0].instant} has filled the slot of this write meanwhile",
                where=path,
            )


def stamps(config: WriteConfig) -> dict[str, str]:
    """What a commit carries so that later requests find it."""
    asked = {STAMP: config.idempotency.key, SLOT_STAMP: config.idempotency.slot.key}
    return {name: text for name, text in asked.items() if text}


def find_earlier(
    config: WriteConfig,
    table: Table | None,
    now_ms: int,
    *,
    seen: Collection[Instant] = (),
    has_meta_columns: bool,
) -> Earlier:
    """What was committed before a request, those on the timeline left out that were ``seen``.

    Raises:
        UnsupportedError: rows of the slot are to be replaced, and have nothing to be known by.
    """
    existing = config.on_existing
    if existing is OnExisting.REPLACE and not has_meta_columns:
        if config.idempotency.slot.existing is not None:
            raise UnsupportedError(
                f"{ON_EXISTING.key} is replace, and the table has no meta columns, by which rows "
                "of a commit are known; choose append or reuse"
            )
        existing = OnExisting.APPEND
    if table is None:
        return Earlier()
    key, slot = config.idempotency.key, config.idempotency.slot.key
    if key:
        since = look_back(config.idempotency.since, now_ms, table.config.timezone)
        commit = find_committed(table, key, since=since, seen=seen)
        if commit is not None:
            return Earlier(commit=commit)
    if not slot or existing is OnExisting.APPEND:
        return Earlier()
    # Before all times there are, unless it is said since when.
    begin = config.idempotency.slot.since or AskedInstant(digits="0")
    since = look_back(begin, now_ms, table.config.timezone)
    found = find_of_slot(table, slot, since=since, seen=seen)
    if existing is OnExisting.REUSE:
        return Earlier(commit=next(iter(found), None))
    return Earlier(replaced=found)
