"""The files that a clean would delete."""

from pathlib import Path

from tests.support.console import Shell

ONE = ("--retain-commits", "1")


def test_what_a_clean_would_delete_is_what_it_deletes(pyhudi: Shell, table: Path) -> None:
    before = {path: path.stat().st_size for path in table.glob("p*/*.parquet")}
    found = pyhudi.json("clean", table, "--dry-run", *ONE)
    assert {path: path.stat().st_size for path in table.glob("p*/*.parquet")} == before
    assert pyhudi.json("plan", "clean", table, *ONE) == found
    done = pyhudi.json("clean", table, *ONE)
    gone = before.keys() - set(table.glob("p*/*.parquet"))
    assert found["files"] == done["files"]["deleted"] == len(gone) > 0
    assert found["bytes"] == done["bytes_deleted"] == sum(before[path] for path in gone)
    by_partition = {each["partition"]: each["files"] for each in found["partitions"]}
    assert by_partition == {"p0": 1, "p1": 1}


def test_it_says_since_when_all_files_stay(pyhudi: Shell, table: Path) -> None:
    last = pyhudi.json("commits", table)["commits"][-1]["instant"]
    assert pyhudi.json("plan", "clean", table, *ONE)["retained_since"] == last
    assert "the policy keeps every file" in pyhudi("plan", "clean", table)


def test_a_clean_that_is_planned_already_is_told_as_what_it_has_left(
    pyhudi: Shell, table: Path
) -> None:
    planned = pyhudi.json("clean", table, "--mode", "schedule", *ONE)
    found = pyhudi.json("clean", table, "--mode", "execute", "--dry-run")
    assert found["planned_already"] == [planned["instant"]]
    assert found["files"] == planned["files"]["planned"]
