"""Services run by the command, and what they would do."""

from pathlib import Path

from tests.support.console import Shell

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
