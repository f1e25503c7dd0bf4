"""Looks at one table, for any number of questions, that read nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from airflow_provider_pyhudi.watch.facts import CommitFacts, facts_of
from pyhudi.errors import HudiError, MissingFileError, TableNotFoundError

if TYPE_CHECKING:
    from pyhudi.filegroup.slices import FileSlice
    from pyhudi.table.table import Table
    from pyhudi.timeline.instant import Instant
    from pyhudi.timeline.timeline import Timeline

_Archive: TypeAlias = dict[tuple[str, str], list[CommitFacts]]
"""What archived writes say, by from when on, and where the timeline began when they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was found, None while nothing fits, and what was seen, in words."""

    found: Any
    seen: str


class Question(Protocol):
    """What somebody waits for; equal questions have one answer."""

    def answer(self, view: TableView) -> Look:
        """The answer as the table is at this look."""
        ...

    def waiting(self) -> str:
        """What is waited for, in words that go behind what was seen."""
        ...


class TableView:
    """A table at one look; what its completed writes say is remembered from looks before."""

    def __init__(self, table: Table, known: dict[str, CommitFacts], archive: _Archive) -> None:
        self.table = table
        self._known = known
        self._archive = archive
        self._slices: dict[str | None, tuple[FileSlice, ...]] = {}

    @property
    def timeline(self) -> Timeline:
        """The instants at this look."""
        return self.table.timeline

    @property
    def where(self) -> str:
        """The path or URI of the table."""
        return self.table.storage.uri

    def facts(self, times: Collection[str] | None = None) -> list[CommitFacts]:
        """What the completed writes on the timeline say, oldest first; all, or those of some times.

        One that was archived or undone since the listing is left out.
        """
        done = self.timeline.write_instants().completed()
        asked = (each for each in done if times is None or each.time in times)
        found = (self._facts_of(each) for each in asked)
        return [each for each in found if each is not None]

    def archived_facts(self, since: str) -> list[CommitFacts]:
        """What archived writes from a time on say, oldest first; opens no older archive file."""
        if self.timeline.goes_back_to(since):
            return []
        # The archive is another one only when the timeline begins later.
        key = since, self.timeline.start
        if key not in self._archive:
            self._archive.clear()
            self._archive[key] = self._read_archive(since)
        return self._archive[key]

    def _read_archive(self, since: str) -> list[CommitFacts]:
        from pyhudi.table.archived import ArchivedTimeline, instant_of, written_by
        from pyhudi.timeline.clock import instant_time

        zone = self.table.config.timezone
        archive = ArchivedTimeline.of(self.table.storage, self.table.config)
        found: dict[str, CommitFacts] = {}
        for file in archive.files():
            if instant_time(file.status.modified_ms, zone) < since:
                continue
            for record in archive.read(file):
                instant, metadata = instant_of(record), written_by(record)
                is_done = instant is not None and instant.is_completed and instant.time >= since
                if instant is not None and is_done and metadata is not None:
                    told = facts_of(instant.time, instant.action.value, metadata)
                    found[instant.time] = told
        return [found[time] for time in sorted(found)]

    def slices(self, partition: str | None = None) -> tuple[FileSlice, ...]:
        """The latest file slices of one partition or of all; listed once a look."""
        if partition not in self._slices:
            # What commits promise of files that are gone is for readers to say.
            table = replace(self.table, skips_damaged=True)
            asked = None if partition is None else [partition]
            self._slices[partition] = table.latest_slices(asked)
        return self._slices[partition]

    def _facts_of(self, instant: Instant) -> CommitFacts | None:
        if instant.time not in self._known:
            try:
                metadata = self.table.active.read_replace_commit(instant)
            except MissingFileError:
                return None
            name, ended = instant.action.value, instant.completion_time
            told = facts_of(instant.time, name, metadata, ended)
            if told.operation == "UNKNOWN" and not told.partitions:
                # It says nothing: others may write instants where readers see them half.
                return told
            self._known[instant.time] = told
        return self._known[instant.time]


class TableWatch:
    """One table, looked at again and again.

    A look is one listing of the timeline, whoever asks and however old the table is. What a
    completed write says is read once, and only where a question needs it; while the timeline stays
    as it was, an answer does too.

    Guarantees: may be used by several threads, of which one looks at a time.
    """

    def __init__(self, open_table: Callable[[], Table], where: str) -> None:
        self._open = open_table
        self._where = where
        self._known: dict[str, CommitFacts] = {}
        self._archive: _Archive = {}
        self._answers: dict[Question, Look] = {}
        self._seen: Timeline | None = None
        self._view: TableView | None = None
        self._lock = threading.Lock()

    def look(
        self, questions: Iterable[Question], *, anew: bool = True
    ) -> dict[Question, Look | HudiError]:
        """The answer to each question, or the error that it met; ``anew`` lists the timeline.

        Raises:
            HudiError: the table itself cannot be looked at.
        """
        asked = tuple(questions)
        with self._lock:
            if anew or (self._view is None and self._seen is None):
                self._list()
            self._forget_all_but(asked)
            return {each: self._answer(each) for each in asked}

    def one_look(self, question: Question) -> Look:
        """The answer to one question.

        Raises:
            HudiError: the table cannot be looked at, or not for this question.
        """
        found = self.look([question])[question]
        if isinstance(found, HudiError):
            raise found
        return found

    def _list(self) -> None:
        try:
            table = self._open()
        except TableNotFoundError:
            self._view, self._seen = None, None
            self._answers.clear()
            return
        if table.timeline == self._seen and self._view is not None:
            return
        self._seen = table.timeline
        listed = {each.time for each in table.timeline}
        self._known = {time: told for time, told in self._known.items() if time in listed}
        self._view = TableView(table, self._known, self._archive)
        self._answers.clear()

    def _answer(self, question: Question) -> Look | HudiError:
        if self._view is None:
            missing = f"there is no table at {self._where} yet{question.waiting()}"
            return Look(found=None, seen=missing)
        if question not in self._answers:
            try:
                self._answers[question] = question.answer(self._view)
            except HudiError as error:
                return error
        return self._answers[question]

    def _forget_all_but(self, asked: Collection[Question]) -> None:
        self._answers = {each: self._answers[each] for each in asked if each in self._answers}
