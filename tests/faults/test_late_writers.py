"""Writers and services that are late: the table has gone on without them."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pyarrow as pa
import pytest

from pyhudi.errors import RolledBackError
from pyhudi.storage.storage import Storage
from tests.support.faulty import Faults, FaultyStorage
from tests.support.in_process import (
    Rows,
    archive,
    cleaning,
    clock_at,
    leftovers,
    new_table,
    outcome,
    read_rows,
    write,
)
from tests.support.rivals import SEVERAL, optimistic

OLD: Rows = {("x", "a"): (1, "old")}
TEN_MINUTES_MS = 600_000


class SuspendedInItsLookup(FaultyStorage):
    """Lets others act before the first file is read; notes what is created from then on."""

    def __init__(self, inner: Storage, meanwhile: Callable[[], object]) -> None:
        super().__init__(inner, Faults())
        self._meanwhile = [meanwhile]
        self.created: list[str] = []

    def open_input(self, path: str) -> AbstractContextManager[pa.NativeFile]:
        if self._meanwhile:
            self._meanwhile.pop()()
            self.created.clear()
        return super().open_input(path)

    def create(self, path: str, data: bytes) -> None:
        self.created.append(path)
        super().create(path, data)


def test_who_was_undone_does_not_come_back_before_what_was_archived_since() -> None:
    """Its instant would be the first of the timeline, and all that is archived after it hidden."""
    storage, clock = new_table(), clock_at()
    options = optimistic()
    write(storage, OLD, clock, options=options)
    others: list[Rows] = [{("y", f"k{number}"): (1, "other")} for number in range(6)]
    shared = {name.replace(".", "__"): value for name, value in SEVERAL.items()}

    def go_on() -> None:
        clock.advance(TEN_MINUTES_MS)
        service = cleaning(storage, clock, hoodie__clean__failed__writes__policy="LAZY", **shared)
        service.schedule_and_execute()
        for rows in others:
            write(storage, rows, clock, options=options)
        assert archive(storage, clock, **shared).status == "archived"

    late = SuspendedInItsLookup(storage, go_on)
    raised = outcome(lambda: write(late, {("x", "a"): (2, "late")}, clock, options=options))
    with pytest.raises(
        RolledBackError,
        match=r"taken for dead: its heartbeat was not renewed for 60. s, and others wait for 120 s",
    ):
        raise raised or AssertionError("it was committed")
    assert not [path for path in late.created if path.endswith(".inflight")]
    assert read_rows(storage) == {
        **OLD,
        **{key: row for each in others for key, row in each.items()},
    }
    assert leftovers(storage) == []


class ArchivedMeanwhile(FaultyStorage):
    """Lets others archive before the first commit that is read."""

    def __init__(self, inner: Storage, meanwhile: Callable[[], object]) -> None:
        super().__init__(inner, Faults())
        self._meanwhile = [meanwhile]

    def read(self, path: str) -> bytes:
        if self._meanwhile and path.endswith(".commit"):
            self._meanwhile.pop()()
        return super().read(path)


def test_a_clean_is_planned_though_commits_are_archived_meanwhile() -> None:
    storage, clock = new_table(), clock_at()
    options = optimistic()
    shared = {name.replace(".", "__"): value for name, value in SEVERAL.items()}
    rows: Rows = {}
    for number in range(10):
        rows = {("x", "a"): (number, f"value {number}")}
        write(storage, rows, clock, options=options)
        if number == 3:
            cleaning(storage, clock, **shared).schedule_and_execute()
    others = ArchivedMeanwhile(storage, lambda: archive(storage, clock, **shared))
    done = cleaning(others, clock, **shared).schedule_and_execute()
    assert done.status == "committed"
    assert read_rows(storage) == rows
