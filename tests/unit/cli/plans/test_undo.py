"""What a rollback or a restore would undo."""

from pathlib import Path

from tests.support.console import Shell


def writes(pyhudi: Shell, table: Path) -> list[str]:
    return [each["instant"] for each in pyhudi.json("commits", table)["commits"]]


def test_a_rollback_would_delete_the_files_that_it_deletes(pyhudi: Shell, table: Path) -> None:
    last, before = writes(pyhudi, table)[-1], set(table.rglob("*"))
    found = pyhudi.json("rollback", table, "--instant", last, "--dry-run")
    assert set(table.rglob("*")) == before
    files = set(table.glob("p*/*.parquet"))
    done = pyhudi.json("rollback", table, "--instant", last)
    assert found["files"] == done["files"]["deleted"] == len(files - set(table.glob("p*/*")))
    (told,) = found["instants_to_undo"]
    assert (told["instant"], told["rows"]["deleted"]) == (last, 3)
    assert pyhudi.json("rollback", table, "--instant", last, "--dry-run")["instants"] == 0


def test_a_rollback_of_log_blocks_says_where_they_are_taken_back(
    pyhudi: Shell, logged: Path
) -> None:
    last = writes(pyhudi, logged)[-1]
    found = pyhudi.json("rollback", logged, "--instant", last, "--dry-run")
    done = pyhudi.json("rollback", logged, "--instant", last)
    assert sum(e["logs_appended"] for e in found["partitions"]) == done["files"]["appended"] > 0


def test_what_would_be_refused_is_refused_beforehand(pyhudi: Shell, table: Path) -> None:
    first, *_ = writes(pyhudi, table)
    for words in (("rollback", table, "--instant", first), ("restore", table, "--instant", first)):
        assert pyhudi.outcome(*words, "--dry-run") == pyhudi.outcome(*words)
    code, _, err = pyhudi.outcome("rollback", table, "--instant", first, "--dry-run")
    assert (code, "later writes are completed" in err) == (2, True)


def test_a_restore_would_undo_all_that_came_after_the_savepoint(pyhudi: Shell, table: Path) -> None:
    first, *later = writes(pyhudi, table)
    pyhudi("savepoint", table, "--instant", first)
    found = pyhudi.json("restore", table, "--instant", first, "--dry-run")
    assert [each["instant"] for each in found["instants_to_undo"]] == later[::-1]
    assert writes(pyhudi, table) == [first, *later]
    done = pyhudi.json("restore", table, "--instant", first)
    assert (found["files"], writes(pyhudi, table)) == (done["files"]["deleted"], [first])
