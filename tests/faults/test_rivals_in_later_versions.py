"""The rivals of the other tests on tables of version 9, where two could end one instant twice."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from pyhudi.config.versions import TableVersion
from tests.faults import test_rival_restores as undoers
from tests.faults import test_rival_writers as writers
from tests.support import orders
from tests.support.crash_cases import COPIED
from tests.support.in_process import CONFIG
from tests.support.undo_cases import UNDOING

LATER = replace(CONFIG, version=TableVersion.NINE)
UNDONE = [found for found in UNDOING if found.table_type == COPIED]
MEETINGS: dict[str, Callable[[], None]] = {
    "a rollback and a write": partial(
        undoers.test_a_writer_that_meets_a_rollback_lands_before_it_or_after_it_or_is_told, COPIED
    ),
    "a rollback and a savepoint": partial(
        undoers.test_a_write_that_is_rolled_back_has_no_savepoint_and_one_with_a_savepoint_stays,
        COPIED,
    ),
    "a restore and a write": partial(
        undoers.test_a_writer_that_meets_a_restore_is_undone_by_it_or_lands_after_it_or_is_told,
        COPIED,
    ),
    "one that is overtaken": partial(
        writers.test_a_writer_that_was_overtaken_loses_nothing_that_the_faster_one_wrote, LATER, 0
    ),
    "one that is taken for dead": partial(
        writers.test_of_a_slow_writer_and_one_that_takes_it_for_dead_nobody_loses_rows, LATER
    ),
    "four that wait": partial(
        writers.test_writers_that_wait_for_each_other_all_land, 4, False, COPIED
    ),
    **{
        " and ".join(each): partial(
            writers.test_of_two_whole_writes_each_lands_whole_or_is_told_so, LATER, each
        )
        for each in writers.OPERATIONS
    },
    **{
        f"twice {found.name}": partial(
            undoers.test_who_undoes_what_another_is_undoing_does_no_harm, found
        )
        for found in UNDONE
    },
}


@pytest.mark.parametrize("meeting", MEETINGS)
def test_rivals_of_a_later_version_do_each_other_no_harm(
    meeting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(orders.OPTIONS, "hoodie.write.table.version", "9")
    MEETINGS[meeting]()
