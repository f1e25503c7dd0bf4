"""Services run by the command, and what they would do."""

import os
from pathlib import Path

import pytest

from tests.support.console import Shell
from tests.support.faulty import heartbeat_of

DUE = ("--max-delta-commits", "1")


def test_a_compaction_is_planned_and_run_without_spark(pyhudi: Shell, logged: Path) -> None:
    found = pyhudi.json("compact", logged, *DUE)
    assert (found["status"], found["operation"]) == ("committed", "compact")
    assert pyhudi.json("stats", logged)["log_files"] == 0
    assert pyhudi.json("count", logged)["rows"] == 21
    assert pyhudi.outcome("validate", logged)[0] == 0


def test_a_dry_run_changes_nothing_and_says_what_would_be_done(pyhudi: Shell, logged: Path) -> None:
    before = sorted(str(path) for path in logged.rglob("*"))
    found = pyhudi.json("compact", logged, "--dry-run", *DUE)
    assert (found["due"], found["slices"], len(found["planned_slices"])) == (True, 2, 2)
    assert sorted(str(path) for path in logged.rglob("*")) == before
    conf = ("--hoodie-conf", "hoodie.compact.inline.max.delta.commits=1")
    assert pyhudi.json("plan", "compaction", logged, *conf) == found


def test_what_is_not_due_is_not_done_and_the_plan_says_how_it_would_be(
    pyhudi: Shell, logged: Path
) -> None:
    assert pyhudi.json("compact", logged)["reason"] == "no compaction is due"
    found = pyhudi.json("plan", "compaction", logged)
    assert (found["due"], found["slices"]) == (False, 2)
    assert "pyhudi compact --max-delta-commits 1" in found["remarks"][0]


def test_flags_of_the_job_are_those_of_the_command(pyhudi: Shell, logged: Path) -> None:
    planned = pyhudi.json("compact", logged, "--mode", "schedule", *DUE)
    assert planned["status"] == "scheduled"
    entry = ("--commit-metadata", "ticket=42")
    run = pyhudi.json("compact", logged, "--mode", "execute", *entry)
    assert run["instant"] == planned["instant"]
    assert pyhudi.json("show", logged, run["instant"])["ticket"] == "42"


def test_a_wrong_flag_of_the_job_is_refused_as_the_job_does(pyhudi: Shell, logged: Path) -> None:
    code, _, err = pyhudi.outcome("compact", logged, "--mode", "never")
    assert (code, "mode is 'never'" in err) == (2, True)


def test_savepoints_are_made_listed_and_deleted(pyhudi: Shell, table: Path) -> None:
    last = pyhudi.json("commits", table)["commits"][-1]["instant"]
    assert "savepoints: none" in pyhudi("savepoint", table, "--mode", "list")
    pyhudi("savepoint", table, "--user", "ops", "--comment", "before the move")
    (found,) = pyhudi.json("savepoint", table, "--mode", "list")["savepoints"]
    assert (found["instant"], found["user"], found["comment"], found["files"]) == (
        *(last, "ops", "before the move"),
        2,
    )
    pyhudi("savepoint", table, "--mode", "delete", "--instant", last)
    assert pyhudi.json("savepoint", table, "--mode", "list")["savepoints"] == []


def test_a_service_that_leaves_no_commit_takes_no_metadata_for_one(
    pyhudi: Shell, table: Path
) -> None:
    code, _, err = pyhudi.outcome("clean", table, "--commit-metadata", "ticket=42")
    assert (code, "there is no flag --commit-metadata" in err) == (2, True)


@pytest.mark.parametrize("name", ["rollback", "restore"])
def test_what_to_undo_has_to_be_said(name: str, pyhudi: Shell, table: Path) -> None:
    code, _, err = pyhudi.outcome(name, table)
    assert (code, "required: --instant" in err) == (2, True)


def test_who_waits_for_another_writer_is_told_so(
    pyhudi: Shell, table: Path, caplog: pytest.LogCaptureFixture
) -> None:
    last = pyhudi.json("commits", table)["commits"][-1]["instant"]
    meta, other = table / ".hoodie", "29990101000000000"
    (meta / f"{other}.commit.requested").write_text("")
    (meta / ".heartbeat").mkdir(exist_ok=True)
    (meta / ".heartbeat" / other).write_bytes(heartbeat_of(os.getpid()))
    wait = ("--hoodie-conf", "pyhudi.write.wait.seconds=1")
    code, _, err = pyhudi.outcome("rollback", table, "--instant", last, *wait)
    assert (code, "retry when other writers have ended" in err) == (3, True)
    assert any("waiting for" in each.getMessage() for each in caplog.records)
