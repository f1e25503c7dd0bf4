"""Which file groups are in pending compactions."""

from __future__ import annotations

from pathlib import Path

from pyhudi.table.pending import (
    find_planned,
    pending_log_compactions,
    pending_plans,
)
from pyhudi.table.table import Table, load_table, open_table
from pyhudi.timeline.instant import Action
from tests.support.golden import golden_copy, golden_table
from tests.support.plain_log_compaction import before_log_compaction


def pending(table: Table) -> dict[tuple[str, str], str]:
    return dict(table.pending_compactions())


def test_a_pending_compaction_claims_the_file_groups_of_its_plan() -> None:
    table = open_table(golden_table("v6_mor_pending_compaction"))
    found = pending(table)
    assert set(found.values()) == {"20261121104850556"}
    assert sorted(partition for partition, _ in found) == ["north", "south"]


def test_a_completed_compaction_claims_nothing() -> None:
    assert pending(open_table(golden_table("v6_mor_compacted"))) == {}


def test_a_compaction_that_was_unscheduled_meanwhile_claims_nothing(tmp_path: Path) -> None:
    path = golden_copy("v6_mor_pending_compaction", tmp_path)
    table = open_table(path)
    (path / ".hoodie" / "20261121104850556.compaction.requested").unlink()
    assert list(pending_plans(table.active, table.timeline)) == []


def test_a_planned_log_compaction_claims_nothing_but_from_others_of_its_kind() -> None:
    table = load_table(before_log_compaction())
    assert pending(table) == {}
    where = table.active, table.timeline
    found = pending_log_compactions(*where)
    assert sorted(partition for partition, _ in found) == ["north", "south"]
    assert find_planned(*where, "key", Action.LOG_COMPACTION) is None
