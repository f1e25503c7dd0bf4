"""What happened to a table, one instant a line."""

from pathlib import Path

from tests.support.console import Shell
from tests.support.golden import golden_instants, golden_names, golden_table


def test_every_write_is_told_with_its_rows_and_who_asked_for_it(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("timeline", table)["timeline"]
    assert [each["operation"] for each in found] == ["insert", "upsert", "delete"]
    assert [each["rows"] for each in found] == [
        {"inserted": 20, "updated": 0, "deleted": 0},
        {"inserted": 4, "updated": 5, "deleted": 0},
        {"inserted": 0, "updated": 0, "deleted": 3},
    ]
    assert {each["dag_run"] for each in found} == {"orders_hourly scheduled__2026-01-01"}
    assert all(each["bytes"] > 0 and 0 <= each["took"] < 60 for each in found)


def test_the_instants_are_those_that_hudi_lists(pyhudi: Shell) -> None:
    for name in golden_names():
        found = pyhudi.json("timeline", golden_table(name), "--limit", 0)["timeline"]
        told = [(each["instant"], each["action"], each["state"]) for each in found]
        listed = [(e["requested"], e["action"], e["state"].lower()) for e in golden_instants(name)]
        assert told == listed, name


def test_it_says_when_it_leaves_instants_out(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("timeline", table, "--limit", 1)
    assert [each["operation"] for each in found["timeline"]] == ["delete"]
    assert found["remarks"] == ["The newest 1 of 3 instants; --limit 0 shows all."]


def test_only_what_is_asked_for_is_told(pyhudi: Shell) -> None:
    path = golden_table("v6_mor_pending_compaction")
    (pending,) = pyhudi.json("timeline", path, "--pending")["timeline"]
    assert (pending["action"], pending["state"], pending["took"]) == (
        "compaction",
        "requested",
        None,
    )
    commits = pyhudi.json("timeline", path, "--action", "deltacommit")["timeline"]
    assert {each["action"] for each in commits} == {"deltacommit"}


def test_an_instant_that_cannot_be_read_is_told_beside_the_others(
    pyhudi: Shell, table: Path
) -> None:
    commit = max((table / ".hoodie").glob("*.commit"))
    commit.write_text("{")
    found = pyhudi.json("timeline", table)
    assert [each["bytes"] is None for each in found["timeline"]] == [False, False, True]
    assert commit.stem in found["remarks"][0]


def test_times_are_in_the_zone_of_the_table_and_say_so(pyhudi: Shell, table: Path) -> None:
    assert "started (local time)" in pyhudi("timeline", table)
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("timezone=LOCAL", "timezone=UTC"))
    text = pyhudi("timeline", table)
    assert "started (UTC)" in text
    assert "Instants and times are in UTC, the table's zone." in text


def test_commits_are_told_with_the_files_they_wrote(pyhudi: Shell, logged: Path) -> None:
    found = pyhudi.json("commits", logged)
    files = [(each["new"], each["rewritten"], each["log"]) for each in found["commits"]]
    assert files == [(2, 0, 0), (2, 0, 2), (0, 0, 2)]
    assert found["rows_changed"] == {"inserted": 24, "updated": 5, "deleted": 3}
