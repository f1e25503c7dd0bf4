"""What is stopped at each of its storage calls: every operation, table type and index."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.storage.storage import Storage
from tests.support.crashes import World, course_of
from tests.support.faulty import bury
from tests.support.in_process import (
    ARCHIVING,
    KINDS,
    NOW_MS,
    SAVING,
    Options,
    Rows,
    archive,
    cleaning,
    clock_at,
    compaction,
    data_files,
    options_of,
    run_pending,
    write,
    write_nothing,
)

Act: TypeAlias = Callable[[Storage, Storage], object]
"""What is stopped: it gets the storage of the table and that of the failed records."""

COPIED, LOGGED = "COPY_ON_WRITE", "MERGE_ON_READ"
INDEXES = ("SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "BUCKET")
OLD: Rows = {("x", "a"): (1, "old"), ("x", "b"): (1, "old"), ("y", "c"): (1, "old")}
LATER: Rows = {("y", "c"): (3, "later")}
LOG: Rows = {("x", "b"): (2, "log")}
# An update, an insert beside it, a new partition, and a key that another partition has.
MIXED: Rows = {
    ("x", "a"): (5, "new"),
    ("x", "d"): (5, "new"),
    ("z", "e"): (5, "new"),
    ("x", "c"): (5, "new"),
}
FRESH: Rows = {("x", "d"): (5, "new"), ("z", "e"): (5, "new")}
GONE: Rows = {("x", "a"): (6, ""), ("z", "n"): (6, "")}
NEXT: Rows = {("x", "b"): (9, "next"), ("z", "f"): (9, "next")}
BESIDE_OTHERS = {
    "hoodie__write__concurrency__mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie__write__lock__provider": "StorageBasedLockProvider",
}
SORTED_BULK = "hoodie__bulkinsert__sort__mode"


@dataclass(frozen=True)
class Case:
    """One thing to stop; ``prepare`` makes the world it begins in, with the rows ``before``."""

    operation: str
    table_type: str
    index: str
    prepare: Callable[[], World]
    act: Act
    before: Rows
    after: Rows
    options: Options

    @property
    def name(self) -> str:
        """The case in one word."""
        return "-".join((self.operation, self.table_type, self.index)).replace(" ", "_").lower()

    @property
    def is_clean(self) -> bool:
        """Whether a plan may stay, to be finished by the next clean; who archives cleans before."""
        return "clean" in self.operation or "archive" in self.operation

    @property
    def is_compaction(self) -> bool:
        """Whether a plan may stay, to be run by the next."""
        return "compaction" in self.operation

    @property
    def is_beside_others(self) -> bool:
        """Whether a dead write may stay until the next clean."""
        return "beside others" in self.operation

    def go_on(self, world: World, number: int) -> Rows:
        """Let others write and compact after it; gives what of their rows is to be read."""
        clock = clock_at(NOW_MS + 60_000)
        if self.is_beside_others:
            kept = {"hoodie__clean__commits__retained": "10", **BESIDE_OTHERS}
            cleaning(world.table, clock, **kept).schedule_and_execute()
        if self.is_clean:
            cleaning(world.table, clock).schedule_and_execute()
        if self.is_compaction:
            write_nothing(world.table, clock, self.options)
            run_pending(world.table, clock)
        if number % 6 and world.table.exists(".hoodie/hoodie.properties"):
            write_nothing(world.table, clock, self.options, failed=world.failed)
            return {}
        write(world.table, NEXT, clock, options=self.options, failed=world.failed)
        return NEXT


def cases() -> list[Case]:
    """All of them."""
    found = [
        case
        for table_type in (COPIED, LOGGED)
        for case in (
            *_writes(table_type),
            *_first_writes(table_type),
            _recovery(table_type),
            *archiving(table_type),
        )
    ]
    return [*found, *_compactions(), *_cleans()]


def _writes(table_type: str) -> Iterator[Case]:
    make = partial(_write, table_type)
    old = _old(table_type)
    for index in INDEXES:
        moved = {key: row for key, row in old.items() if key != ("y", "c")}
        kept = moved if index.startswith("GLOBAL") else old
        yield make("upsert", index, MIXED, {**kept, **MIXED})
        left = {key: row for key, row in old.items() if key != ("x", "a")}
        yield make("delete", index, GONE, left)
        yield make("insert", index, FRESH, {**old, **FRESH})
        yield make("bulk_insert", index, FRESH, {**old, **FRESH})
        others = {key: row for key, row in old.items() if key[0] != "x"}
        yield make("insert_overwrite", index, FRESH, {**others, **FRESH})
        yield make("insert_overwrite_table", index, FRESH, FRESH)
        yield make("delete_partition", index, GONE, others)
    beside = partial(make, "upsert", "SIMPLE", MIXED, {**old, **MIXED}, **BESIDE_OTHERS)
    yield beside(note="beside others")
    dropping = {"hoodie__datasource__insert__dup__policy": "drop"}
    mixed = {key: row for key, row in MIXED.items() if key not in old}
    yield make("insert", "BLOOM", MIXED, {**old, **mixed}, note="drop duplicates", **dropping)
    for mode in ("GLOBAL_SORT", "PARTITION_SORT"):
        chosen = {SORTED_BULK: mode}
        yield make("bulk_insert", "SIMPLE", FRESH, {**old, **FRESH}, note=mode, **chosen)
    bad: Rows = {("x", ""): (5, "no key"), **FRESH, ("z", ""): (5, "no key")}
    for operation, index in (("upsert", "BLOOM"), ("bulk_insert", "SIMPLE")):
        yield make(operation, index, bad, {**old, **FRESH}, note="failed records saved", **SAVING)
    if table_type == LOGGED:
        for note, inline in (
            ("compaction", {"hoodie__compact__inline": "true"}),
            ("log compaction", {"hoodie__log__compaction__inline": "true"}),
        ):
            due = {
                "hoodie__compact__inline__max__delta__commits": "1",
                "hoodie__log__compaction__blocks__threshold": "2",
                **inline,
            }
            yield make("upsert", "SIMPLE", MIXED, {**old, **MIXED}, note=f"write and {note}", **due)


def _old(table_type: str) -> Rows:
    return {**OLD, **LOG} if table_type == LOGGED else OLD


def _write(
    table_type: str,
    operation: str,
    index: str,
    rows: Rows,
    after: Rows,
    *,
    note: str = "",
    **more: str,
) -> Case:
    options = options_of(table_type, index, **more)

    def act(table: Storage, failed: Storage) -> None:
        write(table, rows, clock_at(NOW_MS + 10_000), operation, options, failed=failed)

    return Case(
        operation=f"{operation}, {note.lower()}" if note else operation,
        table_type=table_type,
        index=index,
        prepare=partial(_written, table_type, index),
        act=act,
        before=_old(table_type),
        after=after,
        options=options_of(table_type, index, **_kept_of(more)),
    )


def _kept_of(options: dict[str, str]) -> dict[str, str]:
    """Those that whoever comes next has too."""
    groups = (group for group in (SAVING, BESIDE_OTHERS) if group.items() <= options.items())
    return {name: value for group in groups for name, value in group.items()}


def _written(table_type: str, index: str) -> World:
    """A table with rows in base files, and in a log file where it may have one."""
    world, clock, options = World(), clock_at(), options_of(table_type, index)
    write(world.table, OLD, clock, "insert", options)
    if table_type == LOGGED:
        write(world.table, LOG, clock, "upsert", options)
    return world


def _first_writes(table_type: str) -> Iterator[Case]:
    for operation, index in (("upsert", "SIMPLE"), ("bulk_insert", "BLOOM")):
        options = options_of(table_type, index)

        def act(
            table: Storage, _: Storage, operation: str = operation, options: Options = options
        ) -> None:
            write(table, OLD, clock_at(), operation, options)

        yield Case(
            operation=f"{operation}, first",
            table_type=table_type,
            index=index,
            prepare=World,
            act=act,
            before={},
            after=OLD,
            options=options,
        )


def _recovery(table_type: str) -> Case:
    """What a write does first, after another has died with all of its files written."""
    stopped = _write(table_type, "upsert", "SIMPLE", MIXED, {})

    def act(table: Storage, _: Storage) -> None:
        write_nothing(table, clock_at(NOW_MS + 20_000), stopped.options)

    return Case(
        operation="recovery",
        table_type=table_type,
        index="SIMPLE",
        prepare=lambda: dead_before_commit(stopped),
        act=act,
        before=stopped.before,
        after=stopped.before,
        options=stopped.options,
    )


def dead_before_commit(case: Case) -> World:
    """The world of a case that died with all done but the commit."""
    worlds = [state.world for state in course_of(case.prepare(), case.act).states]
    commits = len(_completed(worlds[0]))
    found = [world for world in worlds if len(_completed(world)) == commits][-1].copy()
    bury(found.table)
    return found


def _completed(world: World) -> list[str]:
    ends = (".commit", ".deltacommit", ".replacecommit")
    return [path for path in world.table.files if path.endswith(ends)]


def archiving(table_type: str) -> Iterator[Case]:
    """An upsert that archives, and archiving alone."""
    old = {**_old(table_type), **LATER}
    upsert = _write(
        table_type, "upsert", "SIMPLE", MIXED, {**old, **MIXED}, note="write and archive"
    )
    few = {**upsert.options, **ARCHIVING}

    def act(table: Storage, _: Storage) -> None:
        write(table, MIXED, clock_at(NOW_MS + 10_000), "upsert", few)

    prepare = partial(_long, table_type)
    yield replace(upsert, prepare=prepare, act=act, before=old)

    def alone(table: Storage, _: Storage) -> None:
        assert archive(table, clock_at(NOW_MS + 10_000)).status in ("archived", "nothing_to_do")

    yield replace(upsert, operation="archive", prepare=prepare, act=alone, before=old, after=old)


def _long(table_type: str) -> World:
    """A table with some commits more than shall stay on its timeline."""
    world = _written(table_type, "SIMPLE")
    for number in range(4):
        clock = clock_at(NOW_MS + 1_000 + 1_000 * number)
        write(world.table, LATER, clock, "upsert", options_of(table_type))
    return world


def _compactions() -> Iterator[Case]:
    rows = {**OLD, **LOG, ("x", "a"): (3, "log")}

    def logged() -> World:
        world = _written(LOGGED, "SIMPLE")
        more: Rows = {("x", "a"): (3, "log")}
        write(world.table, more, clock_at(NOW_MS + 5_000), "upsert", options_of(LOGGED))
        return world

    def planned(kind: str) -> World:
        world = logged()
        compaction(world.table, clock_at(NOW_MS + 6_000), kind).schedule()
        return world

    for kind in KINDS:
        name = {COMPACTION_KIND: "compaction", LOG_COMPACTION_KIND: "log compaction"}[kind]

        def make(
            what: str, prepare: Callable[[], World], step: str, name: str = name, kind: str = kind
        ) -> Case:
            return Case(
                operation=f"{name}, {what}",
                table_type=LOGGED,
                index="SIMPLE",
                prepare=prepare,
                act=partial(_service, kind=kind, step=step),
                before=rows,
                after=rows,
                options=options_of(LOGGED),
            )

        run = make("run", partial(planned, kind), "execute")
        yield make("planned", logged, "schedule")
        yield run
        yield make("run after a death", partial(dead_before_commit, run), "all")
        yield make("taken back", partial(planned, kind), "unschedule")


def _service(table: Storage, _: Storage, *, kind: str, step: str) -> None:
    service = compaction(table, clock_at(NOW_MS + 10_000), kind)
    if step == "schedule":
        assert service.schedule().instant
    elif step == "execute":
        service.execute(service.oldest_pending())
    elif step == "all":
        service.execute_all()
    else:
        service.unschedule(service.oldest_pending() or "")


def _cleans() -> Iterator[Case]:
    for table_type in (COPIED, LOGGED):
        for what, prepare, step in (
            ("run", aged, "execute"),
            ("planned", aged, "schedule"),
            ("run after a death", clean_died, "execute"),
            ("of an emptied partition", emptied, "execute"),
        ):
            before = STAYED if prepare is emptied else {**OLD, **AGED}
            yield Case(
                operation=f"clean, {what}",
                table_type=table_type,
                index="SIMPLE",
                prepare=partial(prepare, table_type),
                act=partial(_clean, step=step),
                before=before,
                after=before,
                options=options_of(table_type),
            )
        cleaned = {"hoodie__clean__commits__retained": "1"}
        written = _write(
            table_type,
            "upsert",
            "SIMPLE",
            MIXED,
            {**OLD, **AGED, **MIXED},
            note="write and clean",
            **cleaned,
        )
        yield replace(written, prepare=partial(aged, table_type), before={**OLD, **AGED})


AGED: Rows = {("x", "b"): (4, "aged"), ("y", "c"): (4, "aged")}
STAYED: Rows = {("y", "c"): (4, "aged")}


def aged(table_type: str) -> World:
    """A table with two files more of each partition than its rows need."""
    world, options = World(), options_of(table_type)
    write(world.table, OLD, clock_at(), "insert", options)
    _age(world, table_type, AGED)
    return world


def emptied(table_type: str) -> World:
    """A table that has lost a partition since, whose files are still there."""
    world, options = World(), options_of(table_type)
    write(world.table, OLD, clock_at(), "insert", options)
    write(world.table, GONE, clock_at(NOW_MS + 500), "delete_partition", options)
    _age(world, table_type, STAYED)
    return world


def _age(world: World, table_type: str, aged: Rows) -> None:
    for number in (2, 3, 4):
        rows: Rows = {key: (number, value) for key, (_, value) in aged.items()}
        at = NOW_MS + 1_000 * number
        write(world.table, rows, clock_at(at), "upsert", options_of(table_type))
        if table_type == LOGGED:
            service = compaction(world.table, clock_at(at + 500))
            service.schedule_and_execute()


def clean_died(table_type: str) -> World:
    """A table whose clean died when it had deleted a file."""
    before = aged(table_type)
    worlds = [
        state.world for state in course_of(before.copy(), partial(_clean, step="execute")).states
    ]
    count = len(data_files(before.table))
    return next(each for each in worlds if len(data_files(each.table)) < count).copy()


def _clean(table: Storage, _: Storage, *, step: str) -> None:
    service = cleaning(table, clock_at(NOW_MS + 10_000))
    if step == "schedule":
        assert service.schedule().instant
    else:
        assert service.schedule_and_execute().instant
