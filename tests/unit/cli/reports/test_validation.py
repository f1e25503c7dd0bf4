"""What ``pyhudi validate`` says and ends with."""

from pathlib import Path

from tests.support.console import Shell
from tests.support.golden import golden_table


def test_a_table_that_holds_together_ends_with_0(pyhudi: Shell, table: Path) -> None:
    found = pyhudi.json("validate", table)
    assert (found["errors"], found["orphans"], found["findings"]) == (0, 0, [])
    assert (found["slices"], found["record_keys_compared"]) == (2, 21)
    assert "the table holds together" in pyhudi("validate", table)


def test_a_finding_ends_with_1_and_is_told_on_standard_output(pyhudi: Shell, table: Path) -> None:
    lost = max(table.glob("p0/*.parquet"), key=lambda path: path.name.split("_")[-1])
    lost.unlink()
    code, out, err = pyhudi.outcome("validate", table)
    assert (code, err) == (1, "")
    assert f"error  missing file  p0/{lost.name}" in out


def test_notes_alone_end_with_0(pyhudi: Shell) -> None:
    found = pyhudi.json("validate", golden_table("v6_cow_duplicates"))
    assert {each["grade"] for each in found["findings"]} == {"note"}


def test_keys_are_left_unread_when_asked(pyhudi: Shell, table: Path) -> None:
    assert pyhudi.json("validate", table, "--no-keys")["record_keys_compared"] == 0


def test_unique_keys_are_an_error_to_break_when_asked(pyhudi: Shell) -> None:
    code, _, _ = pyhudi.outcome("validate", golden_table("v6_cow_duplicates"), "--unique-keys")
    assert code == 1
