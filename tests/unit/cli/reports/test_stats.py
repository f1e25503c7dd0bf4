"""How large files are, and what writes cost."""

from pathlib import Path

import pytest

from pyhudi.cli.reports.stats import histogram
from tests.support.console import Shell


def test_classes_of_sizes_hold_every_file_once() -> None:
    found = histogram([5, 10, 11, 99, 100, 5000], (0, 10, 100, 1000))
    assert [row[:3] for row in found] == [(0, 10, 1), (10, 100, 3), (100, 1000, 1), (1000, None, 1)]
    assert [row[5] for row in found] == ["#" * 8, "#" * 24, "#" * 8, "#" * 8]


def test_empty_classes_at_the_ends_are_left_out() -> None:
    assert [row[:3] for row in histogram([15], (0, 10, 100, 1000))] == [(10, 100, 1)]
    assert histogram([], (0, 10)) == ()


def test_amplification_counts_what_was_rewritten_for_the_rows_that_changed(
    pyhudi: Shell, table: Path
) -> None:
    found = pyhudi.json("stats", table)
    # 20 inserted; 24 in the files that 9 changed; 21 in those that 3 were deleted from.
    assert (found["rows_changed"], found["rows_written"]) == (32, 65)
    assert found["write_amplification"] == 2.03
    worst = found["costliest_writes"][0]
    assert (worst["operation"], worst["amplification"]) == ("delete", 7.0)


def test_log_files_are_held_against_base_files(pyhudi: Shell, logged: Path) -> None:
    found = pyhudi.json("stats", logged)
    assert found["log_to_base"] == round(found["log_bytes"] / found["base_bytes"], 3)
    assert found["rows_written"] == found["rows_changed"] == 32
    assert (found["compaction_due"], found["compaction_slices"]) == (False, 2)
    due = pyhudi.json("stats", logged, "--hoodie-conf", "hoodie.compact.inline.max.delta.commits=1")
    assert due["compaction_due"] is True


def test_older_slices_are_what_the_latest_do_not_have(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("stats", table)
    on_disk = sum(file.stat().st_size for file in table.glob("p*/*.parquet"))
    assert found["bytes_of_older_slices"] + found["base_bytes"] == on_disk
    assert found["small_files"] == 2
    limited = pyhudi.json("stats", table, "--hoodie-conf", "hoodie.parquet.small.file.limit=1")
    assert limited["small_files"] == 0


FEW = {
    "clean": ("--hoodie-conf", "hoodie.clean.commits.retained=1"),
    "archive": (
        *("--hoodie-conf", "hoodie.keep.min.commits=1"),
        *("--hoodie-conf", "hoodie.keep.max.commits=2"),
    ),
}


@pytest.mark.parametrize(("name", "count"), [("clean", "files"), ("archive", "instants")])
def test_it_says_what_a_clean_and_an_archive_would_do(
    name: str, count: str, pyhudi: Shell, table: Path
) -> None:
    found, plan = (
        pyhudi.json("stats", table, *FEW[name]),
        pyhudi.json("plan", name, table, *FEW[name]),
    )
    assert found[f"{name}_{count}"] == plan[count] > 0
    assert found[f"{name}_bytes"] == plan["bytes"] > 0


def test_a_service_that_cannot_plan_leaves_the_rest_to_be_told(pyhudi: Shell, table: Path) -> None:
    commits = sorted((table / ".hoodie").glob("*.commit"))
    commits[0].write_text("{")
    found = pyhudi.json("stats", table, *FEW["clean"])
    assert found["small_files"] == 2
    assert commits[0].name in found["clean"]
