"""A job's result in one line."""

import pytest

from pyhudi.jobs.result import JobResult
from pyhudi.table.result_line import deletion_table, result_line

ROWS = JobResult(
    status="committed",
    operation="upsert",
    table="flights",
    base_path="/data/flights",
    instant="20261122010203004",
    records={"inserted": 28_135, "updated": 64, "deleted": 0, "ignored": 3, "failed": 0},
    files={"created": 1, "rewritten": 2, "appended": 0, "replaced": 0},
    seconds={
        "total": 10.47,
        "start": 5.1,
        "key": 0.91,
        "lookup": 1.2,
        "write": 2.8,
        "commit": 0.01,
    },
)


PLANNED: dict[str, object] = {
    "instant": None,
    "files": {"planned": 3},
    "by_partition": {"north": {"files": 1, "bytes": 1 << 20}, "": {"files": 2, "bytes": 3 << 19}},
}


def line(**other: object) -> str:
    plain = {**ROWS.as_dict(), **other}
    return result_line(JobResult(**plain))


def test_a_commit_says_what_became_of_its_rows_and_how_long_each_stage_took() -> None:
    assert line() == (
        "flights: upsert committed 20261122010203004: 28,135 inserted, 64 updated, "
        "3 ignored as older, 10.5 s (start 5.1, key 0.9, lookup 1.2, write 2.8)"
    )


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            {"instant": None, "reason": "there is no source"},
            "upsert wrote nothing: there is no source, ",
        ),
        ({"status": "already_committed"}, "was committed by an earlier try as 20261122010203004: "),
        ({"status": "scheduled", "operation": "compact"}, "compact is planned as 2026112201020300"),
        ({"status": "unscheduled"}, "20261122010203004 is taken back, 10.5 s"),
        (
            {"records": {}, "files": {"deleted": 2}, "bytes_deleted": 3 << 20},
            "20261122010203004: 2 files of 3.0 MiB deleted, 10.5 s",
        ),
        (
            {"status": "planned", "operation": "clean", **PLANNED},
            "clean would delete 3 files of 2.5 MiB; nothing was done",
        ),
        ({"schema_changes": ["column n (int32) is new"]}, "older, column n (int32) is new, 10.5 s"),
        ({"records": {"failed": 2}}, "20261122010203004: 2 could not be written, 10.5 s"),
        ({"records": {}, "bytes_written": 3 << 20}, ": 3 files of 3.0 MiB written, 10.5 s"),
        ({"records": {}, "files": {"replaced": 1}}, ": 1 file group replaced, 10.5 s"),
        (
            {"records": {"updated": 64}, "files": {"appended": 2}},
            "64 updated, those older than the stored ones are left out when they are read, 10.5 s",
        ),
    ],
    ids=str,
)
def test_what_else_there_is_to_say_is_said(other: dict[str, object], words: str) -> None:
    assert words in line(**other)


def test_a_result_without_times_leaves_them_out() -> None:
    nothing = {"instant": None, "reason": "the source has no rows", "seconds": {}}
    assert line(**nothing) == "flights: upsert wrote nothing: the source has no rows"


def test_what_would_be_deleted_is_a_table() -> None:
    plain = {**ROWS.as_dict(), **PLANNED}
    assert deletion_table(JobResult(**plain)).splitlines() == [
        "partition          files  MiB",
        "north                  1  1.0",
        "(not partitioned)      2  1.5",
        "all                    3  2.5",
    ]
