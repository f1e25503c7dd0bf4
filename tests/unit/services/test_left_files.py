"""What dead writes to tables of versions 8 and 9 left, whose log files tell their write."""

from pathlib import Path

import pytest

import pyhudi
from pyhudi.services.left_files import plan_rollback
from pyhudi.services.recovery import recover
from pyhudi.table.table import open_table
from pyhudi.timeline.clock import SystemClock
from pyhudi.timeline.instant import State
from pyhudi.transaction import appended
from pyhudi.transaction.markers import delete_markers
from tests.support.golden import expected_rows, golden_copy, golden_table, row_texts
from tests.support.timelines import writer_for
from tests.support.tree import files_of_rows


@pytest.mark.parametrize("has_markers", [True, False])
def test_a_dead_write_of_hudi_s_leaves_no_file(has_markers: bool, tmp_path: Path) -> None:
    folder = golden_copy("v8_mor_inflight", tmp_path)
    table = open_table(str(folder))
    (dead,) = table.timeline.pending_writes()
    assert any(dead.time in path for path in files_of_rows(folder))
    if not has_markers:
        delete_markers(table.storage, dead.time)
    recover(writer_for(table.storage, table.config, SystemClock()))
    assert not any(dead.time in path for path in files_of_rows(folder))
    assert row_texts(pyhudi.read_table(str(folder))) == expected_rows("v8_mor_inflight")


def test_log_files_are_told_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appended, "iter_blocks", None)
    table = open_table(str(golden_table("v9_mor_basic")))
    last = table.timeline.write_instants().completed().instants[-1]
    plan = plan_rollback(table, last.in_state(State.INFLIGHT))
    names = [path for each in plan.requests for path in each.files_to_delete]
    assert len(names) == 3
    assert all(last.time in path for path in names)
    assert not any(each.log_blocks for each in plan.requests)
