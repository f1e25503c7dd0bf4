"""A bootstrap that fails, or dies, at any of its calls: readers see the whole table or none."""

from collections.abc import Callable
from functools import partial

import pytest

from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import HudiError, TableNotFoundError
from pyhudi.services.recovery import recover, writer_of
from pyhudi.storage.storage import Storage
from pyhudi.table.bootstrap_index import read_bootstrap_index
from pyhudi.table.table import load_table
from tests.support.clocks import FakeClock
from tests.support.crashes import World, course_of
from tests.support.datasets import (
    FULL_RECORD,
    MIXED,
    SourceInMemory,
    bootstrap_in_memory,
    dataset,
)
from tests.support.faulty import Faults, bury
from tests.support.in_process import clock_at, leftovers, outcome
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE, STEP

CASES = {"skeletons": {}, "rows": FULL_RECORD, "both": MIXED}
DEATHS, ERRORS = (1, 1) if IS_WHOLE else (3 * STEP, 13 * STEP)
SOURCE = SourceInMemory(dataset(files=1, rows=3))
ALL = 9


def act(clock: FakeClock, options: dict[str, str], table: Storage, _: Storage) -> None:
    bootstrap_in_memory(table, SOURCE, clock, options)


def count_rows(storage: MemoryStorage) -> int | None:
    """The rows that readers see; None where there is no table."""
    try:
        table = load_table(storage)
    except TableNotFoundError:
        return None
    stats = [
        stat
        for instant in table.timeline.write_instants().completed()
        for stat in table.active.read_commit(instant).write_stats
    ]
    assert {stat.path for stat in stats} == {file.path for file in table.latest_base_files()}
    return sum(stat.num_writes for stat in stats)


def check_whole(world: World, options: dict[str, str], what: str) -> None:
    assert count_rows(world.table) == ALL, what
    table = load_table(world.table)
    index = read_bootstrap_index(world.table)
    instants = {file.instant for file in table.latest_base_files()}
    assert (index is not None) == ("00000000000001" in instants), what
    for file in table.latest_base_files():
        if file.instant == "00000000000001":
            assert index is not None
            assert index.source_of(file.partition, file.file_id) is not None, what
    files = {path for path in world.table.files if path.endswith(".parquet")}
    assert files == {file.path for file in table.latest_base_files()}, what
    assert leftovers(world.table) == [], what


def go_on(world: World, options: dict[str, str], what: str) -> None:
    """The same request again, which makes the table; or the next writer of one that is made."""
    if count_rows(world.table) != ALL:
        bootstrap_in_memory(world.table, SOURCE, clock_at(), options)
    else:
        recover(writer_of(load_table(world.table), clock_at(), HeartbeatConfig()))
    check_whole(world, options, what)


@pytest.mark.parametrize("name", CASES)
def test_a_stop_at_any_call_leaves_all_or_nothing(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    options = CASES[name]
    before = World()
    course = course_of(before.copy(), partial(act, clock_at(), options))
    check_whole(course.states[-1].world, options, "undisturbed")
    deaths = course.states[::DEATHS]
    for state in deaths:
        world, what = state.world.copy(), f"death before call {state.at}"
        assert count_rows(world.table) in (None, 0, ALL), what
        bury(world.table)
        go_on(world, options, what)
    errors = course.faults()[::ERRORS]
    for kind, at in errors:
        world, what = before.copy(), f"{kind.name} at call {at}"
        raised = outcome(partial(world.stop, partial(act, clock_at(), options), Faults(kind, at)))
        assert raised is None or isinstance(raised, (HudiError, OSError)), f"{what}: {raised!r}"
        seen = count_rows(world.table)
        assert seen == ALL if raised is None else seen in (None, 0, ALL), f"{what}: {raised!r}"
        bury(world.table)
        go_on(world, options, f"{what}: {raised!r}")
    record_property("points", len(deaths) + len(errors))
