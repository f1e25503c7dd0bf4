"""Readers while a service runs: what was there before, what is there after, or an error by name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import pytest

from pyhudi.errors import ConflictError, MissingFileError, RequestError
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from tests.support.crash_cases import COPIED, LOGGED, archiving
from tests.support.faulty import Visited
from tests.support.in_process import NOW_MS, Rows, archive, clock_at, read_rows, read_tables
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP
from tests.support.undo_cases import UNDOING, UndoCase

pytestmark = pytest.mark.usefixtures("no_waiting")

Act: TypeAlias = Callable[[Storage], object]
Answer: TypeAlias = Rows | list[tuple[object, ...]] | None
"""Rows, those of an incremental query sorted; None for an error that says what to do."""
CALLS = 1 if IS_WHOLE else 3 * STEP
"""Readers come before every so many-th call."""
READ = tuple(each for each in UNDOING if "after a death" not in each.operation)


def queries_of(storage: MemoryStorage) -> dict[str, Callable[[Storage], Answer]]:
    """The latest rows, those as of each commit, and the changes since each."""
    found: dict[str, Callable[[Storage], Answer]] = {"now": read_rows}
    for each in load_table(storage).timeline.write_instants().completed():
        found[f"as of {each.time}"] = partial(read_rows, as_of=each.time)
        found[f"since {each.time}"] = partial(changed_since, begin=each.time)
    return found


def changed_since(storage: Storage, begin: str) -> Answer:
    parts = read_tables(storage, query_type="incremental", begin=begin)
    return sorted(tuple(row.values()) for part in parts for row in part.to_pylist())


def answer(query: Callable[[Storage], Answer], storage: Storage) -> Answer:
    try:
        return query(storage)
    except (ConflictError, MissingFileError, RequestError):
        return None


def check_readers(before: MemoryStorage, act: Act) -> None:
    """Whole reads between any two calls of a service, and the service between those of a read."""
    queries, after = queries_of(before), before.copy()
    act(after)
    known: Mapping[str, tuple[Answer, ...]] = {
        name: (answer(query, before), answer(query, after), None) for name, query in queries.items()
    }

    looks: list[int] = []

    def look(call: int) -> None:
        if call % CALLS == 1 % CALLS:
            looks.append(call)
            for name, query in queries.items():
                found = answer(query, storage)
                assert found in known[name], (name, call)
                assert found is not None or name != "now", call

    assert all(rows for name, (rows, _, _) in known.items() if not name.startswith("since"))
    storage = before.copy()
    visited = Visited(storage, look)
    act(visited)
    assert looks
    for name, query in queries.items():
        at = calls = 1
        while at <= calls:
            own = before.copy()
            reader = Visited(own, lambda call, at=at, own=own: call == at and act(own))  # type: ignore[misc]
            assert answer(query, reader) in known[name], (name, at)
            calls, at = reader.calls, at + CALLS


@pytest.mark.parametrize("table_type", [COPIED, LOGGED])
def test_readers_while_instants_are_archived(table_type: str) -> None:
    (_, alone) = archiving(table_type)
    check_readers(alone.prepare().table, partial(archive, clock=clock_at(NOW_MS + 10_000)))


@pytest.mark.parametrize("undone", READ, ids=[each.name for each in READ])
def test_readers_while_something_is_saved_or_undone(undone: UndoCase) -> None:
    case = undone.make()

    def act(storage: Storage) -> None:
        case.act(storage, NOW_MS + 100_000)

    check_readers(case.storage, act)
