"""Archiving that fails, dies or meets another: no instant is lost, and none is seen half."""

from collections import Counter
from functools import partial

import pytest

from pyhudi.errors import HudiError
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.timeline.instant import Instant
from tests.support import orders
from tests.support.crash_cases import COPIED, LOGGED, NEXT, Case, archiving
from tests.support.crashes import World, course_of
from tests.support.faulty import Faults, bury
from tests.support.in_process import (
    ARCHIVING,
    NOW_MS,
    archive,
    archived_in,
    clock_at,
    leftovers,
    options_of,
    outcome,
    read_rows,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.orders import WAIT
from tests.support.points import IS_WHOLE, STEP
from tests.support.schedule import TurnStorage, random_orders, run_in_turns
from tests.support.timelines import active_of

pytestmark = pytest.mark.usefixtures("no_waiting")
VERSION, PROPERTIES = "hoodie.write.table.version", ".hoodie/hoodie.properties"

CASES = [
    (version, case)
    for version, table_type in (("6", COPIED), ("6", LOGGED), ("8", COPIED), ("9", COPIED))
    for case in archiving(table_type)
]
# Those of version 8 are archived as those of 9 are.
TRIED = [(version, case) for version, case in CASES if version != "8" or IS_WHOLE]
WHAT = [f"{version}-{case.name}" for version, case in TRIED]


def completed(storage: Storage) -> set[tuple[str, str]]:
    """What is completed, on the timeline or in the archive."""
    archived = {
        (each.time, each.action) for each in archived_in(storage) if each.state == "COMPLETED"
    }
    return archived | {each.identity for each in active_of(storage).load().completed()}


def check_whole(storage: MemoryStorage, before: set[tuple[str, str]], what: object) -> None:
    """Nothing that was completed is gone, there is no gap, and nothing else is pending."""
    assert before <= completed(storage), what
    timeline = active_of(storage).load()
    first = timeline.write_instants().first
    assert first is not None, what
    left = {time for time, _ in before if time >= first.time}
    assert left <= {each.time for each in timeline.completed()}, what


@pytest.fixture(autouse=True)
def in_version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made in the version that a test is given."""
    version = getattr(request.node, "callspec", None)
    if version is not None:
        monkeypatch.setitem(orders.OPTIONS, VERSION, version.params["version"])


@pytest.mark.parametrize(("version", "case"), TRIED, ids=WHAT)
def test_a_stop_anywhere_loses_no_instant(version: str, case: Case) -> None:
    world = case.prepare()
    assert f"table.version={version}\n".encode() in world.table.files[PROPERTIES]
    before = completed(world.table)
    course = course_of(world.copy(), case.act)
    assert archived_in(course.states[-1].world.table)
    # What writes do besides is stopped in version 6, and in test_crash_in_later_versions.py.
    every = 1 if IS_WHOLE or version == "6" or case.operation == "archive" else 4
    for state in course.states[:: every * (2 * STEP - 1)]:
        check_stopped(case, state.world.copy(), before, f"death before call {state.at}")
    for kind, at in course.faults()[:: every * (6 * STEP - 1)]:
        stopped = world.copy()
        raised = outcome(partial(stopped.stop, case.act, Faults(kind, at)))
        assert raised is None or isinstance(raised, (HudiError, OSError)), (kind, at, raised)
        check_stopped(case, stopped, before, f"{kind.name} at call {at}")


def check_stopped(case: Case, world: World, before: set[tuple[str, str]], what: str) -> None:
    storage = world.table
    check_whole(storage, before, what)
    seen = read_rows(storage)
    assert seen in (case.before, case.after), what
    bury(storage)
    done = completed(storage)
    options = {**case.options, **ARCHIVING}
    write(storage, NEXT, clock_at(NOW_MS + 60_000), options=options)
    assert read_rows(storage) == {**seen, **NEXT}, what
    check_whole(storage, done, what)
    assert leftovers(storage) == [], what
    assert len(active_of(storage).load().write_instants()) <= 3, what
    records = Counter(each.identity for each in archived_in(storage))
    assert max(records.values()) == 1, (what, "an instant is archived twice")


@pytest.mark.parametrize(("version", "table_type"), [("6", COPIED), ("6", LOGGED), ("9", COPIED)])
def test_archivers_readers_and_writers_in_any_order(version: str, table_type: str) -> None:
    """A reader sees one state or the next, and what is archived is there once."""
    (_, alone) = archiving(table_type)
    world = alone.prepare()
    assert f"table.version={version}\n".encode() in world.table.files[PROPERTIES]
    before, rows = completed(world.table), alone.before
    waiting = {**options_of(table_type), **ARCHIVING, WAIT: "0"}
    for number, order in enumerate(random_orders(40, 400, 4)):
        storage, seen = world.table.copy(), list[object]()

        def read(own: TurnStorage, seen: list[object] = seen) -> None:
            seen.extend(read_rows(own) for _ in range(3))

        def act(own: TurnStorage) -> None:
            archive(own, clock_at(NOW_MS + 10_000))

        def add(own: TurnStorage) -> None:
            write(own, NEXT, clock_at(NOW_MS + 20_000), options=waiting)

        raised = run_in_turns(storage, order, act, read, add, act)
        assert raised == [None] * 4, (number, raised)
        assert all(each in (rows, {**rows, **NEXT}) for each in seen), number
        assert read_rows(storage) == {**rows, **NEXT}, number
        check_whole(storage, before, number)
        records = Counter(each.identity for each in archived_in(storage))
        assert max(records.values()) == 1, number
        assert leftovers(storage) == [], number


def test_a_listing_that_instants_leave_meanwhile_has_no_gap() -> None:
    """Of a folder that the oldest leave, a lister may see the first and miss the second."""
    (_, alone) = archiving(COPIED)
    world = alone.prepare()
    storage = world.table
    storage.put(".hoodie/archived/.commits_.archive.1_1-0-1", b"")
    commits = active_of(storage).load().completed().instants
    torn = Torn(storage, gone=commits[:2])
    assert active_of(torn).load().completed().instants == commits[2:]


class Torn(MemoryStorage):
    """A storage from whose timeline two commits go while it is listed for the first time."""

    def __init__(self, storage: MemoryStorage, gone: tuple[Instant, ...]) -> None:
        super().__init__(storage.files, storage.now_ms)
        self._gone = [f".hoodie/{each.time}.{each.action.value}" for each in gone]

    def list(self, path: str) -> list[FileStatus]:
        found = super().list(path)
        if self._gone and path == ".hoodie":
            first, second = self._gone
            found = [each for each in found if each.path != second]
            assert any(each.path == first for each in found)
            self.delete_all(self._gone)
            self._gone = []
        return found
