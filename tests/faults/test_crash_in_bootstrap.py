"""A bootstrap that fails, or dies, at any of its calls: readers see the whole table or none."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest

from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import HudiError, TableNotFoundError
from pyhudi.services.recovery import recover, writer_of
from pyhudi.table.bootstrap_index import read_bootstrap_index
from pyhudi.table.table import load_table
from tests.faults.test_crash_in_write import DEATHS, ERRORS, check_row
from tests.support.bootstrap_courses import BOOTSTRAPS, SOURCE_ROWS, BootstrapCase
from tests.support.crashes import State, World, course_of
from tests.support.faulty import Fault, Faults, bury
from tests.support.in_process import clock_at, leftovers, outcome
from tests.support.memory import MemoryStorage
from tests.support.points import IS_WHOLE


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


def check_whole(world: World, what: str) -> None:
    assert count_rows(world.table) == SOURCE_ROWS, what
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


def go_on(case: BootstrapCase, world: World, what: str) -> None:
    """The same request again, which makes the table; or the next writer of one that is made."""
    if count_rows(world.table) != SOURCE_ROWS:
        case.again(world.table)
    else:
        recover(writer_of(load_table(world.table), clock_at(), HeartbeatConfig()))
    check_whole(world, what)


@pytest.mark.parametrize("number", range(len(BOOTSTRAPS)), ids=[case.name for case in BOOTSTRAPS])
def test_a_stop_at_any_call_leaves_all_or_nothing(
    number: int, record_property: Callable[[str, object], None]
) -> None:
    case = BOOTSTRAPS[number]
    before = case.prepare()
    course = course_of(before.copy(), case.act)
    check_whole(course.states[-1].world, "undisturbed")
    check_row(case, course)
    deaths, errors = (
        course.states[number % DEATHS :: DEATHS],
        course.faults()[number % ERRORS :: ERRORS],
    )
    try_stops(case, before, deaths, errors)
    # Deaths that leave the same files are looked at once.
    record_property("points", len(errors) + (course.calls if IS_WHOLE else len(deaths)))


def try_stops(
    case: BootstrapCase,
    before: World,
    deaths: Sequence[State],
    errors: Sequence[tuple[Fault, int]],
) -> None:
    """Stop it there, and let it, or others, go on."""
    for state in deaths:
        world, what = state.world.copy(), f"death before call {state.at}"
        assert count_rows(world.table) in (None, 0, SOURCE_ROWS), what
        bury(world.table)
        go_on(case, world, what)
    for kind, at in errors:
        world, what = before.copy(), f"{kind.name} at call {at}"
        raised = outcome(partial(world.stop, case.act, Faults(kind, at)))
        assert raised is None or isinstance(raised, (HudiError, OSError)), f"{what}: {raised!r}"
        seen = count_rows(world.table)
        expected = (SOURCE_ROWS,) if raised is None else (None, 0)
        assert seen in expected, f"{what}: {raised!r}"
        bury(world.table)
        go_on(case, world, f"{what}: {raised!r}")
