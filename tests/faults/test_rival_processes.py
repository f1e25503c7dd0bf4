"""Processes that write one table at once, killed and stopped; `python -m tests.rivals` runs more.

What each of them said is replayed in the order in which instants were completed, and compared with
what the table says: in the end, as of each instant that it still has, and to readers meanwhile.
"""

from pathlib import Path

import pytest

from tests.rivals.run import local_plan, run_here

pytestmark = pytest.mark.slow


def test_writers_that_are_killed_and_stopped_lose_nothing_and_double_nothing(
    tmp_path: Path,
) -> None:
    """One is stopped for longer than its heartbeat lasts."""
    ran = run_here(
        local_plan(
            tmp_path,
            table_type="MERGE_ON_READ",
            writers=3,
            seconds=12.0,
            seed=15,
            kill_every_s=4.0,
            stop_every_s=4.0,
            stops_s=(7.5,),
        )
    )
    assert ran.anomalies == []
    assert ran.befallen.kills
    assert ran.befallen.stops
    assert ran.checked.reads_compared
    assert len({each.writer for each in ran.checked.story.tried.values() if each.instant}) > 3


def test_without_a_look_for_conflicts_the_checker_finds_lost_rows(tmp_path: Path) -> None:
    ran = run_here(
        local_plan(
            tmp_path,
            writers=4,
            seconds=8.0,
            seed=15,
            kill_every_s=0.0,
            stop_every_s=0.0,
            unchecked=True,
            narrow=True,
        )
    )
    kinds = {each.kind for each in ran.checked.anomalies}
    assert "rows" in kinds
    assert "two holders" not in kinds
