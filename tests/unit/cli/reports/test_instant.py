"""One instant, and what lies between two."""

from pathlib import Path

import pytest

from tests.support.console import Shell
from tests.support.golden import golden_names, golden_table


def instants(pyhudi: Shell, table: Path) -> list[str]:
    return [each["instant"] for each in pyhudi.json("timeline", table, "--limit", 0)["timeline"]]


def test_a_commit_is_shown_with_its_files_and_its_extra_metadata(
    pyhudi: Shell, table: Path
) -> None:
    found = pyhudi.json("show", table, instants(pyhudi, table)[1])
    assert (found["operation"], found["airflow.dag_id"]) == ("upsert", "orders_hourly")
    assert {each["kind"] for each in found["files"]} == {"rewritten"}
    assert sum(each["changes"]["inserted"] for each in found["files"]) == 4
    assert "schema" not in found


@pytest.mark.parametrize("name", golden_names())
def test_every_instant_that_hudi_left_can_be_shown(pyhudi: Shell, name: str) -> None:
    table = golden_table(name)
    for instant in dict.fromkeys(instants(pyhudi, table)):
        assert pyhudi.json("show", table, instant)["instant"] == instant


def test_a_planned_compaction_is_shown_with_its_slices(pyhudi: Shell) -> None:
    table = golden_table("v6_mor_pending_compaction")
    (planned,) = pyhudi.json("timeline", table, "--pending")["timeline"]
    found = pyhudi.json("show", table, planned["instant"])["planned_slices"]
    assert [each["logs"] for each in found] == [2, 2]


def test_what_a_clean_says_is_shown_entry_by_entry(pyhudi: Shell) -> None:
    table = golden_table("v6_cow_clean")
    (clean, *_) = pyhudi.json("timeline", table, "--action", "clean")["timeline"]
    said = pyhudi.json("show", table, clean["instant"])["says"]
    assert "earliestCommitToRetain" in {each["entry"] for each in said}


def test_a_savepoint_is_shown_beside_the_commit_that_it_saves(pyhudi: Shell) -> None:
    table = golden_table("v6_cow_restore")
    (saved,) = pyhudi.json("timeline", table, "--action", "savepoint")["timeline"]
    found = pyhudi.json("show", table, saved["instant"])
    assert (found["action"], found["savepoint_action"]) == ("commit", "savepoint")
    assert found["files"]
    assert "savepointedBy" in {each["entry"] for each in found["says"]}


def test_what_a_replacecommit_hides_is_shown(pyhudi: Shell) -> None:
    table = golden_table("v6_cow_overwrite")
    (replaced, *_) = pyhudi.json("timeline", table, "--action", "replacecommit")["timeline"]
    assert pyhudi.json("show", table, replaced["instant"])["replaced_file_groups"]


def test_a_difference_adds_up_what_was_written_after_the_first_up_to_the_second(
    pyhudi: Shell, logged: Path
) -> None:
    first, second, third = instants(pyhudi, logged)
    found = pyhudi.json("diff", logged, first, third)
    assert [each["instant"] for each in found["instants_between"]] == [second, third]
    assert found["rows"] == {"inserted": 4, "updated": 5, "deleted": 3}
    changes = sorted(each["change"] for each in found["file_groups"])
    assert changes == ["log", "log", "new", "new"]
    assert pyhudi.json("diff", logged, third, first)["rows"] == found["rows"]
    assert pyhudi.json("diff", logged, third, third)["instants"] == 0


def test_a_difference_tells_how_the_schema_changed(pyhudi: Shell) -> None:
    table = golden_table("v6_cow_evolution")
    first, *_, last = instants(pyhudi, table)
    assert pyhudi.json("diff", table, first, last)["schema_changes"]
