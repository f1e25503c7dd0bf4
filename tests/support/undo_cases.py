"""What takes writes back, to be stopped at each of its storage calls."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.logfile.framing import HeaderKey
from pyhudi.logfile.reader import iter_blocks
from pyhudi.services.rollback import rollback_target
from pyhudi.storage.storage import Storage
from pyhudi.timeline.instant import Action
from tests.support.crash_cases import COPIED, LOGGED, cases, dead_before_commit
from tests.support.crashes import World, course_of
from tests.support.faulty import bury
from tests.support.in_process import (
    NOW_MS,
    Rows,
    clock_at,
    compaction,
    data_files,
    dead_write,
    leftovers,
    options_of,
    read_rows,
    restore,
    roll_back,
    savepoint,
    write,
)
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of

OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
MORE: Rows = {("x", "a"): (2, "more"), ("z", "e"): (2, "more")}
LAST: Rows = {("x", "b"): (3, "last"), ("x", "f"): (3, "last"), ("z", "g"): (3, "last")}
NEXT: Rows = {("x", "a"): (9, "next"), ("y", "h"): (9, "next")}
_SAVEPOINT_NOTED = re.compile(r"\.hoodie/\.heartbeat/\.ending-(\d+)-savepoint")
PLANNED = (Action.COMPACTION, Action.LOG_COMPACTION)


@dataclass(frozen=True)
class Undoing:
    """Something that takes a table from the rows ``before`` to the rows ``after``."""

    storage: MemoryStorage
    instant: str
    act: Callable[[Storage, int], object]
    after: Rows

    @property
    def before(self) -> Rows:
        return read_rows(self.storage)

    def do(self, table: Storage, _: Storage) -> None:
        self.act(table, NOW_MS + 100_000)

    def again(self, table: Storage) -> None:
        self.act(table, NOW_MS + 300_000)


@dataclass(frozen=True)
class UndoCase:
    """One thing that is undone in a table of a type."""

    operation: str
    table_type: str
    make: Callable[[], Undoing]
    index: str = "SIMPLE"

    @property
    def name(self) -> str:
        """The case in one word."""
        return "-".join((self.operation, self.table_type)).replace(" ", "_").lower()


def written(table_type: str, *batches: Rows) -> tuple[MemoryStorage, list[str]]:
    """A table, and the instants of the writes that made it."""
    storage, clock, options = MemoryStorage(now_ms=NOW_MS), clock_at(), options_of(table_type)
    found = [str(write(storage, rows, clock, options=options).instant) for rows in batches]
    return storage, found


def rollback_of(storage: MemoryStorage, instant: str, after: Rows) -> Undoing:
    def act(table: Storage, now_ms: int) -> None:
        roll_back(table, clock_at(now_ms), instant)

    return Undoing(storage, instant, act, after)


def latest_write(table_type: str) -> Undoing:
    storage, (_, last) = written(table_type, OLD, LAST)
    return rollback_of(storage, last, OLD)


def a_dead_write(table_type: str) -> Undoing:
    storage, _ = written(table_type, OLD)
    return rollback_of(storage, dead_write(storage, LAST, clock_at(NOW_MS + 5_000)), OLD)


def latest_overwrite(table_type: str) -> Undoing:
    storage, _ = written(table_type, OLD, MORE)
    before = read_rows(storage)
    last = write(storage, LAST, clock_at(NOW_MS + 5_000), "insert_overwrite").instant
    return rollback_of(storage, str(last), before)


def latest_compaction(kind: str) -> Undoing:
    storage, _ = written(LOGGED, OLD, MORE, LAST)
    done = compaction(storage, clock_at(NOW_MS + 5_000), kind).schedule_and_execute()
    return rollback_of(storage, str(done.instant), read_rows(storage))


def a_dead_compaction() -> Undoing:
    """One whose run died goes back to its plan."""
    (run,) = (case for case in cases() if case.operation == "compaction, run")
    storage = dead_before_commit(run).table
    (pending,) = active_of(storage).load().pending()
    return rollback_of(storage, pending.time, run.before)


def whole_restore(table_type: str) -> Undoing:
    storage, (saved, _) = written(table_type, OLD, MORE)
    savepoint(storage, clock_at(NOW_MS + 1_000), instant=saved)
    if table_type == LOGGED:
        compaction(storage, clock_at(NOW_MS + 5_000)).schedule_and_execute()
    write(storage, LAST, clock_at(NOW_MS + 6_000))
    write(storage, MORE, clock_at(NOW_MS + 7_000), "insert_overwrite")
    write(storage, LAST, clock_at(NOW_MS + 8_000))
    if table_type == LOGGED:
        compaction(storage, clock_at(NOW_MS + 9_000)).schedule()
        write(storage, {("x", "b"): (4, "on a plan")}, clock_at(NOW_MS + 10_000))

    def act(table: Storage, now_ms: int) -> None:
        restore(table, clock_at(now_ms), saved)

    return Undoing(storage, saved, act, OLD)


def half_restored(table_type: str) -> Undoing:
    """A restore that died when half of what it had to do was done."""
    case = whole_restore(table_type)
    states = course_of(World(table=case.storage), case.do).states
    storage = states[len(states) // 2].world.table.copy()
    bury(storage)
    return Undoing(storage, case.instant, case.act, case.after)


def of_savepoint(table_type: str, mode: str) -> Undoing:
    storage, (saved, _) = written(table_type, OLD, MORE)
    if mode == "delete":
        savepoint(storage, clock_at(NOW_MS + 5_000), instant=saved)

    def act(table: Storage, now_ms: int) -> None:
        savepoint(table, clock_at(now_ms), mode=mode, instant=saved)

    return Undoing(storage, saved, act, read_rows(storage))


UNDOING = (
    *(
        UndoCase(operation, table_type, partial(make, table_type))
        for table_type in (COPIED, LOGGED)
        for operation, make in (
            ("rollback of a write", latest_write),
            ("rollback of a dead write", a_dead_write),
            ("rollback of an overwrite", latest_overwrite),
            ("savepoint, created", partial(of_savepoint, mode="create")),
            ("savepoint, deleted", partial(of_savepoint, mode="delete")),
            ("restore", whole_restore),
            ("restore after a death", half_restored),
        )
    ),
    UndoCase("rollback of a compaction", LOGGED, partial(latest_compaction, COMPACTION_KIND)),
    UndoCase(
        "rollback of a log compaction", LOGGED, partial(latest_compaction, LOG_COMPACTION_KIND)
    ),
    UndoCase("rollback of a dead compaction", LOGGED, a_dead_compaction),
)


def remains(storage: MemoryStorage) -> list[str]:
    """What nobody accounts for.

    Log files whose blocks were taken back go with their slices; the next run of a planned
    compaction looks after the markers of an earlier one, and after what rolls that back. When a
    savepoint ends stays noted until it is made.
    """
    gone, found, active = taken_back(storage), leftovers(storage), active_of(storage)
    planned = {each.time for each in active.load().pending() if each.action in PLANNED}
    for each in active.load().pending():
        target = rollback_target(active, each)
        planned |= {each.time} if target is not None and target.time in planned else set()
    saved = {each.time for each in active.load() if each.action is Action.SAVEPOINT}
    gone |= {
        each
        for each in found
        if (noted := _SAVEPOINT_NOTED.fullmatch(each)) and noted[1] not in saved
    }
    return [
        each for each in found if each not in gone and not any(time in each for time in planned)
    ]


def taken_back(storage: MemoryStorage) -> set[str]:
    """Log files that have nothing but rollback blocks, or blocks that these take back."""
    said: dict[str, list[tuple[str, str | None]]] = {}
    for path in data_files(storage):
        if ".log." in path:
            with storage.open_input(path) as source:
                said[path] = [
                    (str(block.instant), block.header.get(HeaderKey.TARGET_INSTANT_TIME))
                    for block in iter_blocks(source, path)
                ]
    targets = {target for blocks in said.values() for _, target in blocks if target}
    gone = targets - {found.time for found in active_of(storage).load()}
    return {
        path for path, blocks in said.items() if all(at in gone or target for at, target in blocks)
    }


def data_names(storage: MemoryStorage) -> set[str]:
    """The data files, but those that only take blocks back: there may be more of them."""
    return data_files(storage) - taken_back(storage)
