"""What a savepoint would keep, and what deleting one would give up."""

from pathlib import Path

from tests.support.console import Shell


def writes(pyhudi: Shell, table: Path) -> list[str]:
    return [each["instant"] for each in pyhudi.json("commits", table)["commits"]]


def test_a_savepoint_would_keep_the_files_that_it_keeps(pyhudi: Shell, table: Path) -> None:
    first, *_, last = writes(pyhudi, table)
    before = set(table.rglob("*"))
    for named, time in ((("--instant", first), first), ((), last)):
        found = pyhudi.json("savepoint", table, *named, "--dry-run")
        assert set(table.rglob("*")) == before
        files = list(table.glob(f"p*/*_{time}.parquet"))
        assert (found["savepoint"], found["files"]) == (time, len(files))
        assert found["bytes"] == sum(path.stat().st_size for path in files)
        assert [each["files"] for each in found["kept_by_partition"]] == [1, 1]
    done = pyhudi.json("savepoint", table, "--instant", first)
    assert done["files"]["saved"] == len(list(table.glob(f"p*/*_{first}.parquet")))
    assert "already" in pyhudi("savepoint", table, "--instant", first, "--dry-run")


def test_deleting_one_would_release_what_nothing_else_keeps(pyhudi: Shell, table: Path) -> None:
    first, *_, last = writes(pyhudi, table)
    deleting = ("savepoint", table, "--mode", "delete", "--dry-run", "--instant")
    for time in (first, last):
        pyhudi("savepoint", table, "--instant", time)
    before = set(table.rglob("*"))
    assert pyhudi.json(*deleting, last)["files"] == 0, "readers need these files"
    found = pyhudi.json(*deleting, first)
    released = list(table.glob(f"p*/*_{first}.parquet"))
    assert found["files"] == len(released) > 0
    assert found["bytes"] == sum(path.stat().st_size for path in released)
    assert set(table.rglob("*")) == before
    listed = pyhudi.json("savepoint", table, "--mode", "list", "--dry-run")["savepoints"]
    assert [each["instant"] for each in listed] == [first, last]


def test_what_would_be_refused_is_refused_beforehand(pyhudi: Shell, table: Path) -> None:
    asked = ("savepoint", table, "--instant", "20200101000000000")
    assert pyhudi.outcome(*asked, "--dry-run") == pyhudi.outcome(*asked)
    assert pyhudi.outcome(*asked, "--dry-run")[0] == 2
    deleting = (*asked, "--mode", "delete", "--dry-run")
    assert "There is no savepoint" in pyhudi(*deleting)
