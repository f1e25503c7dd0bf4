"""What services would do, as a page shows it."""

from pathlib import Path

from pyhudi.cli.opening import open_to_report
from pyhudi.cli.overview.plans import plans
from tests.support.lake import busy, logged
from tests.support.tree import tree


def test_every_service_of_the_table_has_a_plan_and_nothing_is_changed(tmp_path: Path) -> None:
    busy(tmp_path / "busy")
    logged(tmp_path / "logged")
    before = tree(tmp_path)
    for name, services in (
        ("busy", ["clean", "archive"]),
        ("logged", ["compaction", "clean", "archive"]),
    ):
        found = list(plans(open_to_report(str(tmp_path / name))))
        assert [plan.service for plan in found] == services
        assert all(plan.report is not None and plan.problem is None for plan in found)
    assert tree(tmp_path) == before


def test_a_service_that_cannot_say_leaves_the_others_alone(tmp_path: Path) -> None:
    busy(tmp_path / "busy")
    commits = sorted((tmp_path / "busy" / ".hoodie").glob("*.clean"))
    commits[-1].write_bytes(b"torn")
    found = {plan.service: plan for plan in plans(open_to_report(str(tmp_path / "busy")))}
    assert found["clean"].problem is not None
    assert str(commits[-1].name) in found["clean"].problem
    assert set(found) == {"clean", "archive"}
