"""Compactions and log compactions, on copies of Hudi's tables and on our own."""

import logging
from datetime import datetime
from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import ConflictError, OptionError, RequestError, UnsupportedError
from pyhudi.jobs.result import JobResult
from tests.support.golden import expected_rows, golden_copy, row_texts, without
from tests.support.orders import DUE, NO_SMALL_FILES, commit_of, compact, many, rows_of, write
from tests.support.tree import signs_of_work

FEW = {"hoodie.log.compaction.blocks.threshold": "2"}
LOGS = "v6_mor_logs_avro"
TABLE = "v6_mor_pending_compaction"
PLANNED = "20261121104850556"


def told(rows: list[str]) -> list[str]:
    """Rows without the name of the file they lie in."""
    return without(rows, "_hoodie_file_name")


def test_a_plan_of_hudi_is_run_and_the_next_is_made(tmp_path: Path) -> None:
    table = golden_copy(TABLE, tmp_path)
    done = compact(table, mode="execute")
    assert (done.status, done.instant, done.operation) == ("committed", PLANNED, "compact")
    assert (done.files["created"], done.files["rewritten"]) == (0, 2)
    assert (done.partitions, set(done.stages)) == (("north", "south"), {"write", "commit"})
    assert told(row_texts(pyhudi.read_table(table))) == told(expected_rows(TABLE))
    planned = compact(table, mode="schedule", options=DUE)
    assert planned.status == "scheduled"
    again = compact(table, mode="execute", instant=planned.instant)
    assert (again.status, again.instant) == ("committed", planned.instant)
    rows = row_texts(pyhudi.read_table(table, query_type="read_optimized"))
    assert told(rows) == told(expected_rows(TABLE))
    assert signs_of_work(table) == []


def test_nothing_is_planned_before_it_is_due(tmp_path: Path) -> None:
    table = golden_copy(LOGS, tmp_path)
    found = compact(table, options={"hoodie.compact.inline.max.delta.commits": "90"})
    assert (found.status, found.instant) == ("nothing_to_do", None)
    assert compact(table, mode="execute").status == "nothing_to_do"


def test_a_request_is_carried_out_once(tmp_path: Path) -> None:
    table = golden_copy(LOGS, tmp_path)
    asked = {"commit_metadata": {"team": "ops"}, "idempotency_key": "once"}
    first, second = (compact(table, DUE, mode="schedule", **asked) for _ in range(2))
    assert first.instant == second.instant
    done = compact(table, DUE, **asked)
    assert (done.status, done.instant) == ("committed", first.instant)
    assert compact(table, DUE, **asked).status == "already_committed"
    commit = commit_of(table, done.instant)
    assert (commit["extraMetadata"]["team"], commit["operationType"]) == ("ops", "COMPACT")
    assert commit["compacted"]
    assert commit["extraMetadata"]["schema"]


def test_a_plan_is_taken_back(tmp_path: Path) -> None:
    table = golden_copy(LOGS, tmp_path)
    planned = compact(table, mode="schedule", options=DUE).instant
    as_time = datetime.strptime(planned or "", "%Y%m%d%H%M%S%f").isoformat()  # noqa: DTZ007
    taken = compact(table, mode="unschedule", instant=as_time)
    assert (taken.status, taken.instant) == ("unscheduled", planned)
    with pytest.raises(RequestError, match="not planned"):
        compact(table, mode="unschedule", instant=planned)


def test_a_request_that_is_wrong_changes_nothing(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    with pytest.raises(UnsupportedError, match="has no log files"):
        compact(table)
    with pytest.raises(OptionError, match="mode is 'now'"):
        compact(table, mode="now")
    with pytest.raises(OptionError, match="leave --instant out"):
        compact(table, mode="schedule", instant=PLANNED)
    with pytest.raises(RequestError, match="there is no compaction"):
        compact(golden_copy(LOGS, tmp_path), mode="execute", instant="20270101000000000")


def written(table: Path, ts: int, **more: str) -> JobResult:
    """Some keys again, with more options."""
    options = {**NO_SMALL_FILES, **{key.replace("_", "."): value for key, value in more.items()}}
    return write(table, many(range(ts, 20), ts, f"v{ts}"), options=options)


def compactions(table: Path) -> list[str]:
    """The states of compactions, oldest first."""
    names = sorted(path.name for path in (table / ".hoodie").glob("*"))
    plans = [name.split(".")[0] for name in names if name.endswith(".compaction.requested")]
    return ["done" if f"{time}.commit" in names else "planned" for time in plans]


def test_a_write_compacts_when_it_is_due(table: Path) -> None:
    inline = {"hoodie_compact_inline": "true", "hoodie_compact_inline_max_delta_commits": "3"}
    states = []
    for ts in range(1, 6):
        assert written(table, ts, **inline).status == "committed"
        states.append(compactions(table))
    assert states == [[], [], ["done"], ["done"], ["done"]]
    rows = sorted((f"k{n:04d}", f"p{n % 2}", min(n, 5), f"v{min(n, 5)}") for n in range(1, 20))
    assert rows_of(table) == rows
    assert len(rows_of(table, query_type="read_optimized")) == 19


def test_a_write_only_plans_where_it_is_asked_to(table: Path) -> None:
    due = {"hoodie_compact_inline_max_delta_commits": "2"}
    written(table, 1)
    for ts in (2, 3):
        written(table, ts, **due, hoodie_compact_schedule_inline="true")
    assert compactions(table) == ["planned"]
    before = rows_of(table)
    runs = {"hoodie_compact_inline": "true", "hoodie_compact_inline_max_delta_commits": "9"}
    written(table, 3, **runs)
    assert compactions(table) == ["done"]
    assert rows_of(table) == before


def test_a_write_that_is_asked_for_nothing_tells_when_one_is_due(tmp_path: Path, caplog) -> None:
    table, said = tmp_path / "orders", []
    due = {"hoodie_compact_inline_max_delta_commits": "2"}
    with caplog.at_level(logging.INFO, "pyhudi"):
        for ts in range(1, 5):
            caplog.clear()
            written(table, ts, **due)
            said.append("a compaction is due" in caplog.text)
        caplog.clear()
        written(table, 5, **due, hoodie_compact_schedule_inline="true")
    assert said == [False, False, True, True]
    assert "a compaction is due" not in caplog.text
    assert compactions(table) == ["planned"]


def test_a_write_stands_when_its_compaction_fails(table: Path, monkeypatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ConflictError("another writer is at work")

    monkeypatch.setattr("pyhudi.services.compaction.kinds.schedule", fails)
    assert written(table, 1, hoodie_compact_inline="true").status == "committed"
    assert len(rows_of(table)) == 19


@pytest.mark.parametrize(
    "shape",
    [{}, {"hoodie_table_base_file_format": "ORC"}, {"hoodie_populate_meta_fields": "false"}],
)
def test_writes_go_on_top_of_a_plan(shape: dict[str, str], table: Path) -> None:
    for ts in (1, 2):
        written(table, ts, **shape)
    planned = compact(table, mode="schedule", options=DUE).instant
    written(table, 3)
    assert list(table.rglob(f"*_{planned}.log.1_*"))
    before = rows_of(table)
    assert compact(table, mode="execute").instant == planned
    assert rows_of(table) == before
    with pytest.raises(RequestError, match="completed already"):
        compact(table, mode="unschedule", instant=planned)
    written(table, 4)
    before = rows_of(table)
    assert (len(before), compact(table, options=DUE).status) == (19, "committed")
    assert rows_of(table, query_type="read_optimized") == before


def test_log_blocks_become_one_and_rows_stay(tmp_path: Path) -> None:
    table = golden_copy(LOGS, tmp_path)
    planned = compact(table, kind="log_compaction", mode="schedule", options=FEW)
    assert (planned.status, planned.operation) == ("scheduled", "log_compact")
    done = compact(table, kind="log_compaction", mode="execute")
    assert (done.status, done.instant) == ("committed", planned.instant)
    assert done.files["appended"] == len(done.partitions) > 0
    assert (done.files["created"], done.files["rewritten"]) == (0, 0)
    assert set(done.stages) == {"write", "commit"}
    assert row_texts(pyhudi.read_table(table)) == expected_rows(LOGS)
    commit = commit_of(table, done.instant)
    assert (commit["operationType"], commit["compacted"]) == ("LOG_COMPACT", True)
    again = compact(table, kind="log_compaction", options=FEW)
    assert (again.status, again.instant) == ("nothing_to_do", None)
    assert signs_of_work(table) == []


def test_a_log_compaction_is_carried_out_once(tmp_path: Path) -> None:
    table = golden_copy(LOGS, tmp_path)
    asked = {"kind": "log_compaction", "idempotency_key": "once"}
    first, second = (compact(table, FEW, **asked) for _ in range(2))
    assert (first.status, second.status) == ("committed", "already_committed")
    assert (first.instant, first.records) == (second.instant, second.records)


def test_a_log_compaction_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    table = golden_copy(LOGS, tmp_path)
    before = sorted(path for path in table.rglob("*") if path.is_file())
    written = next((table / ".hoodie").glob("*.deltacommit")).stem
    for instant, why in (("20270101000000000", "there is no log"), (written, "not LOG_COMPACT")):
        with pytest.raises(RequestError, match=why):
            compact(table, kind="log_compaction", mode="execute", instant=instant)
    assert sorted(path for path in table.rglob("*") if path.is_file()) == before


@pytest.mark.parametrize("shape", [{}, {"hoodie_populate_meta_fields": "false"}])
def test_a_write_log_compacts_when_enough_blocks_have_gathered(shape: dict[str, str], table: Path):
    inline = {"hoodie_log_compaction_inline": "true", "hoodie_log_compaction_blocks_threshold": "3"}
    counts = []
    for ts in range(1, 7):
        assert written(table, ts, **inline, **shape).status == "committed"
        counts.append(len(list((table / ".hoodie").glob("*.logcompaction.requested"))))
    assert counts == [0, 0, 0, 1, 1, 2]
    rows = sorted((f"k{n:04d}", f"p{n % 2}", min(n, 6), f"v{min(n, 6)}") for n in range(1, 20))
    assert rows_of(table) == rows
    assert compact(table, options=DUE).status == "committed"
    assert rows_of(table, query_type="read_optimized") == rows
