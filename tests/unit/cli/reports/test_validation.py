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


def test_a_file_of_an_archived_commit_is_missed_where_the_archive_is_read(
    pyhudi: Shell, archived: tuple[Path, list[str]]
) -> None:
    table, _ = archived
    assert pyhudi.json("validate", table, "--archived")["findings"] == []
    (lost,) = table.glob("p9/*.parquet")
    lost.unlink()
    assert "--archived" in pyhudi("validate", table)
    code, out, _ = pyhudi.outcome("validate", table, "--archived")
    assert (code, f"missing file  p9/{lost.name}" in out) == (1, True)


def test_a_file_that_the_archive_does_not_name_is_an_orphan_where_it_is_read(
    pyhudi: Shell, archived: tuple[Path, list[str]]
) -> None:
    table, _ = archived
    (named,) = table.glob("p9/*.parquet")
    stray = named.with_name(named.name.replace("_", "_9", 1))
    stray.write_bytes(named.read_bytes())
    assert pyhudi.json("validate", table, "--no-keys")["orphans"] == 0
    code, out, _ = pyhudi.outcome("validate", table, "--no-keys", "--archived")
    assert (code, f"p9/{stray.name}" in out) == (1, True)
