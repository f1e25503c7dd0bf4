"""What is stopped at each of its storage calls where rows lie outside the table."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pyhudi.config.options.table import TABLE_VERSION
from pyhudi.config.table import TableType
from pyhudi.config.versions import TableVersion
from pyhudi.jobs.compaction import COMPACTION_KIND
from pyhudi.storage.storage import Storage
from tests.support.bootstrapped import Source, bootstrap
from tests.support.crash_cases import COPIED, GONE, LOGGED, MIXED, OLD, Act, Case
from tests.support.crashes import World
from tests.support.datasets import (
    FULL_RECORD,
    SourceInMemory,
    bootstrap_in_memory,
    dataset,
)
from tests.support.datasets import MIXED as OF_BOTH_MODES
from tests.support.in_process import (
    CONFIG,
    NOW_MS,
    Options,
    Rows,
    clock_at,
    compaction,
    options_of,
    orders,
    write,
)
from tests.support.orders import OPTIONS

LOG: Rows = {("x", "a"): (2, "log"), ("x", "b"): (3, "log")}
KEPT: Rows = {key: row for key, row in OLD.items() if key != ("x", "a")}
SOURCE = SourceInMemory(dataset(files=1, rows=3))
SOURCE_ROWS = 9


@dataclass(frozen=True)
class BootstrapCase:
    """A bootstrap of nine rows in three partitions; no index is asked."""

    operation: str
    table_type: str
    options: Mapping[str, str] = field(default_factory=dict)
    index: str = "none"

    @property
    def name(self) -> str:
        """The case in one word."""
        return "-".join((self.operation, self.table_type)).replace(" ", "_").lower()

    def prepare(self) -> World:
        """Where no table is."""
        return World()

    def act(self, table: Storage, _: Storage) -> None:
        """Make the table."""
        self.again(table)

    def again(self, table: Storage) -> None:
        """Ask for the same, later or for the first time."""
        more = {"table_type": self.table_type}
        bootstrap_in_memory(table, SOURCE, clock_at(), self.options, **more)


BOOTSTRAPS = (
    BootstrapCase("bootstrap, metadata_only", COPIED),
    BootstrapCase("bootstrap, full_record", COPIED, FULL_RECORD),
    BootstrapCase("bootstrap, both", COPIED, OF_BOTH_MODES),
    BootstrapCase("bootstrap, both", LOGGED, OF_BOTH_MODES),
)


def skeletons(folder: Path, table_type: str, log: Rows | None = None) -> World:
    """A table of skeletons of the old rows, and of rows in log files on top."""
    world = World()
    parts = {part: {k: row for k, row in OLD.items() if k[0] == part} for part, _ in OLD}
    sources = [
        Source(partition=part, rows=orders(rows).drop_columns(["part"]), group_rows=1)
        for part, rows in parts.items()
    ]
    version = TableVersion.of(OPTIONS.get(TABLE_VERSION.key, "6"))
    config = replace(CONFIG, table_type=TableType(table_type), version=version)
    bootstrap(world.table, folder, sources, config)
    if log:
        write(world.table, log, clock_at(), "upsert", unsized(table_type))
    return world


def unsized(table_type: str, **more: str) -> Options:
    """Updates of files, however small, go to log files where there are any."""
    return options_of(table_type, hoodie__parquet__small__file__limit="0", **more)


def writing(rows: Rows, operation: str, options: Options) -> Act:
    def act(table: Storage, _: Storage) -> None:
        write(table, rows, clock_at(NOW_MS + 10_000), operation, options)

    return act


def compacting(table: Storage, _: Storage) -> None:
    service = compaction(table, clock_at(NOW_MS + 10_000), COMPACTION_KIND)
    service.schedule_and_execute()


def cases_on_skeletons(folder: Path) -> list[Case]:
    """Writes onto rows below a folder, and a compaction of those with what lies on top."""
    found = []
    for kind in (COPIED, LOGGED):
        for index in ("SIMPLE", "GLOBAL_BLOOM"):
            kept = OLD if index == "SIMPLE" else {k: r for k, r in OLD.items() if k != ("y", "c")}
            writes = (("upsert", MIXED, {**kept, **MIXED}), ("delete", GONE, KEPT))
            for operation, rows, after in writes:
                options = options_of(kind, index)
                found.append(
                    Case(
                        operation=f"{operation}{_ON_SKELETONS}",
                        table_type=kind,
                        index=index,
                        prepare=partial(skeletons, folder, kind),
                        act=writing(rows, operation, options),
                        before=OLD,
                        after=after,
                        options=options,
                    )
                )
    rows = {**OLD, **LOG}
    last = Case(
        operation=f"compaction{_ON_SKELETONS}",
        table_type=LOGGED,
        index="SIMPLE",
        prepare=partial(skeletons, folder, LOGGED, LOG),
        act=compacting,
        before=rows,
        after=rows,
        options=options_of(LOGGED),
    )
    return [*found, last]


_ON_SKELETONS = ", bootstrapped rows"
