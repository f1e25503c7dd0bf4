"""The instants that would be archived."""

from pathlib import Path

from tests.support.console import Shell

FEW = ("--keep-min-commits", "1", "--keep-max-commits", "2")


def test_what_would_be_archived_is_what_is_archived(pyhudi: Shell, table: Path) -> None:
    before = sorted(table.rglob("*"))
    found = pyhudi.json("archive", table, "--dry-run", *FEW)
    assert sorted(table.rglob("*")) == before
    assert pyhudi.json("plan", "archive", table, *FEW) == found
    done = pyhudi.json("archive", table, *FEW)
    assert done["files"]["instants"] == found["instants"] == len(found["instants_to_archive"]) == 2
    assert done["files"]["deleted"] == found["files"]
    told = pyhudi.json("timeline", table, "--archived")["timeline"]
    assert [each["instant"] for each in told if each["state"] == "archived"] == [
        each["instant"] for each in found["instants_to_archive"]
    ]


def test_it_says_how_many_commits_may_stay_where_there_are_not_too_many(
    pyhudi: Shell, table: Path
) -> None:
    found = pyhudi.json("plan", "archive", table)
    facts = (found["commits"], found["archived_above"], found["commits_that_stay"])
    assert facts == (3, 30, 20)
    assert found["instants_to_archive"] == []
