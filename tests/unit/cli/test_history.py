"""Instants that have left the timeline, as commands tell of them."""

import re
from pathlib import Path
from typing import TypeAlias

import pytest

from pyhudi.table.archived import ArchivedTimeline
from tests.support.console import Shell

Archived: TypeAlias = tuple[Path, list[str]]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the archive files that are read."""
    numbers, read = list[int](), ArchivedTimeline.read

    def noted(self: ArchivedTimeline, file):
        numbers.append(file.number)
        return read(self, file)

    monkeypatch.setattr(ArchivedTimeline, "read", noted)
    return numbers


def test_all_that_was_archived_is_told_with_what_is_not(pyhudi: Shell, archived: Archived) -> None:
    table, instants = archived
    told = pyhudi.json("commits", table, "--archived", "--limit", 0)["commits"]
    assert [each["instant"] for each in told] == instants
    assert {each["dag_run"] for each in told[1:]} == {"orders_hourly scheduled__2026-01-01"}
    assert [each["operation"] for each in told[1:]] == ["insert", "upsert", "delete"] * 3


def test_no_archive_file_is_read_unasked_and_it_is_said_that_there_is_more(
    pyhudi: Shell, archived: Archived, opened: list[int]
) -> None:
    table, instants = archived
    found = pyhudi.json("timeline", table, "--limit", 0)
    assert instants[0] not in {each["instant"] for each in found["timeline"]}
    assert (opened, "--archived" in found["remarks"][0]) == ([], True)


def test_no_more_of_the_archive_is_read_than_the_limit_needs(
    pyhudi: Shell, archived: Archived, opened: list[int]
) -> None:
    table, instants = archived
    told = pyhudi.json("commits", table, "--archived", "--limit", 4)["commits"]
    assert [each["instant"] for each in told] == instants[-4:]
    assert 0 < len(opened) < len(list((table / ".hoodie" / "archived").iterdir()))


@pytest.mark.parametrize("position", [1, 3, 4])
def test_an_archived_commit_is_shown_with_its_files_and_few_archive_files_are_read(
    position: int, pyhudi: Shell, archived: Archived, opened: list[int]
) -> None:
    table, instants = archived
    found = pyhudi.json("show", table, instants[position])
    assert (found["state"], found["airflow.dag_id"]) == ("archived", "orders_hourly")
    assert {each["partition"] for each in found["files"]} == {"p0", "p1"}
    # That of a clean which names the commit may come before its own.
    assert len(opened) <= 2


def test_what_an_archived_clean_says_is_shown(pyhudi: Shell, archived: Archived) -> None:
    table, _ = archived
    words = ("timeline", table, "--archived", "--action", "clean", "--limit", 0)
    clean = pyhudi.json(*words)["timeline"][0]
    assert clean["state"] == "archived"
    said = pyhudi.json("show", table, clean["instant"])["says"]
    assert "earliestCommitToRetain" in {each["entry"] for each in said}


def test_an_instant_that_is_nowhere_is_refused(
    pyhudi: Shell, archived: Archived, opened: list[int]
) -> None:
    code, _, err = pyhudi.outcome("show", archived[0], "20200101000000000")
    assert (code, opened) == (2, [])
    assert re.search("no instant 20200101000000000 is on the timeline or in the archive", err)


def test_a_difference_has_what_was_archived_between(pyhudi: Shell, archived: Archived) -> None:
    table, instants = archived
    found = pyhudi.json("diff", table, instants[0], instants[-1])
    between = [e["instant"] for e in found["instants_between"] if e["action"] == "commit"]
    assert between == instants[1:]
    assert found["rows"]["deleted"] == 9


def test_an_archive_that_cannot_be_read_is_one_line(pyhudi: Shell, archived: Archived) -> None:
    table, _ = archived
    for file in (table / ".hoodie" / "archived").iterdir():
        file.write_bytes(file.read_bytes().replace(b'"commitTime"', b'"commitTide"'))
    code, out, err = pyhudi.outcome("timeline", table, "--archived", "--limit", 0)
    assert (code, out, err.count("\n")) == (2, "", 1)
    code, out, _ = pyhudi.outcome("validate", table, "--archived")
    assert (code, "unreadable archive" in out) == (1, True)
