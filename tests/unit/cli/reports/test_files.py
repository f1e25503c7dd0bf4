"""The file slices that hold a table."""

from pathlib import Path

from tests.support.console import Shell
from tests.support.golden import golden_table


def test_every_slice_is_told_with_its_base_file_and_its_log_files(
    pyhudi: Shell, logged: Path
) -> None:
    found = pyhudi.json("files", logged)
    assert (found["slices"], found["base_files"], found["log_files"]) == (4, 4, 4)
    sizes = [(each["base"] > 0, each["logs"]) for each in found["file_slices"]]
    assert sorted(sizes) == [(True, 0), (True, 0), (True, 2), (True, 2)]
    on_disk = sum(file.stat().st_size for file in logged.glob("p*/*.parquet"))
    assert found["base_bytes"] == on_disk


def test_slices_as_of_an_instant_are_those_of_then(pyhudi: Shell, table: Path) -> None:
    first = pyhudi.json("timeline", table)["timeline"][0]["instant"]
    found = pyhudi.json("files", table, "--as-of", first)["file_slices"]
    assert {each["slice"] for each in found} == {first}
    assert {each["older"] for each in pyhudi.json("files", table)["file_slices"]} == {2}


def test_only_the_partitions_asked_for_are_told(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("files", table, "--partition", "p1")["file_slices"]
    assert {each["partition"] for each in found} == {"p1"}
    code, _, err = pyhudi.outcome("files", table, "--partition", "p2")
    assert (code, "it has p0, p1" in err) == (2, True)


def test_a_pending_compaction_is_told_beside_its_slices(pyhudi: Shell) -> None:
    found = pyhudi.json("files", golden_table("v6_mor_pending_compaction"))["file_slices"]
    assert sum(bool(each["pending"]) for each in found) == 2


def test_it_says_when_it_leaves_slices_out(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("files", table, "--limit", 1)
    assert len(found["file_slices"]) == 1
    assert found["remarks"] == ["The first 1 of 2 slices; --limit 0 shows all."]


def test_files_outside_a_bootstrapped_table_are_told_with_their_bytes(pyhudi: Shell) -> None:
    found = pyhudi.json("files", golden_table("v6_mor_bootstrap"))
    named = [each for each in found["file_slices"] if each["source"]]
    assert {each["slice"] for each in named} == {"00000000000001"}
    sizes = [Path(each["source_file"].removeprefix("file:")).stat().st_size for each in named]
    assert [each["source"] for each in named] == sizes
    assert (found["source_files"], found["source_bytes"]) == (2, sum(sizes))
    stats = pyhudi.json("stats", golden_table("v6_mor_bootstrap"))
    assert (stats["source_files"], stats["source_bytes"]) == (2, sum(sizes))
    assert "source_files" not in pyhudi.json("files", golden_table("v6_mor_basic"))
