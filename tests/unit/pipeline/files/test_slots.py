"""What becomes of a part of the source that is written again, under another request."""

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import OptionError, UnsupportedError
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.pipeline.undo.rollback import rollback_table
from tests.support.orders import (
    HERE,
    LOGGED,
    OPTIONS,
    WITHOUT_ORDERING,
    commit_of,
    compact,
    many,
    orders,
    rows_of,
    tuples,
    write,
)
from tests.support.tree import tree

JANUARY, FEBRUARY = many(range(6), 1, "january"), many(range(6, 12), 2, "february")
AGAIN = orders(
    ("k0000", "p0", 1, "again"), ("k0050", "p1", 1, "again"), ("k0051", "p7", 1, "again")
)
UNKEYED = {**OPTIONS, "hoodie.populate.meta.fields": "false"}
BUCKETS = {**OPTIONS, "hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}


def write_slot(
    table: Path,
    rows: pa.Table,
    slot: str,
    key: str,
    operation: str = "insert",
    options: Mapping[str, str] = OPTIONS,
    existing: str | None = None,
) -> JobResult:
    asked = {**options, "pyhudi.slot.key": slot, "pyhudi.idempotency.key": key}
    if existing:
        asked["pyhudi.slot.existing"] = existing
    return write(table, rows, operation, asked)


@pytest.mark.parametrize("options", [OPTIONS, LOGGED], ids=["copy on write", "merge on read"])
@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_a_slot_that_is_inserted_again_replaces_its_rows_and_no_others(
    table: Path, operation: str, options: Mapping[str, str]
) -> None:
    """An insert fills small files, so that February's rows lie in January's files."""
    write_slot(table, JANUARY, "jan", "1", operation, options)
    write_slot(table, FEBRUARY, "feb", "2", operation, options)
    before = pyhudi.open_table(str(table)).timeline.last.time
    result = write_slot(table, AGAIN, "jan", "3", operation, options)
    assert rows_of(table) == sorted([*tuples(AGAIN), *tuples(FEBRUARY)])
    assert (result.status, result.operation, result.records["inserted"]) == (
        *("committed", operation),
        3,
    )
    assert commit_of(table, result.instant)["operationType"] == "INSERT_OVERWRITE"
    assert rows_of(table, query_type="incremental", begin=before) == tuples(AGAIN)
    assert rows_of(table, as_of=before) == sorted([*tuples(JANUARY), *tuples(FEBRUARY)])


def test_rows_of_others_keep_their_meta_columns_but_the_file_name(table: Path) -> None:
    write_slot(table, JANUARY, "jan", "1")
    write_slot(table, FEBRUARY, "feb", "2")
    meta = [
        "_hoodie_record_key",
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_partition_path",
    ]
    before = pyhudi.read_table(str(table), columns=meta).to_pylist()
    write_slot(table, AGAIN, "jan", "3")
    after = pyhudi.read_table(str(table), columns=[*meta, "_hoodie_file_name"]).to_pylist()
    for row in after:
        assert (table / row["_hoodie_partition_path"] / row.pop("_hoodie_file_name")).exists()
    kept = [row for row in before if row["_hoodie_record_key"] >= "k0006"]
    assert [row for row in after if row in before] == [row for row in after if row in kept]
    assert len([row for row in after if row in kept]) == len(kept) == 6


def test_a_row_that_was_updated_since_is_of_its_updater(table: Path) -> None:
    write_slot(table, JANUARY, "jan", "1", options=LOGGED)
    write(table, orders(("k0001", "p1", 5, "corrected")), options=LOGGED)
    write_slot(table, AGAIN, "jan", "3", options=LOGGED)
    assert rows_of(table) == sorted([*tuples(AGAIN), ("k0001", "p1", 5, "corrected")])
    compact(table, {**LOGGED, "hoodie.compact.inline.max.delta.commits": "1"})
    assert rows_of(table) == sorted([*tuples(AGAIN), ("k0001", "p1", 5, "corrected")])


def test_a_slot_that_comes_back_empty_takes_its_rows_away(table: Path) -> None:
    write_slot(table, JANUARY, "jan", "1")
    write_slot(table, FEBRUARY, "feb", "2")
    write_slot(table, orders(), "jan", "3")
    assert rows_of(table) == tuples(FEBRUARY)


def test_a_slot_is_replaced_as_often_as_it_is_asked(table: Path) -> None:
    for number in range(4):
        write_slot(table, orders(("k0000", "p0", number, f"{number}")), "jan", str(number))
        write_slot(table, FEBRUARY, "feb", f"february {number}", "bulk_insert")
    assert rows_of(table) == sorted([("k0000", "p0", 3, "3"), *tuples(FEBRUARY)])


def test_a_retry_replaces_nothing(table: Path) -> None:
    write_slot(table, JANUARY, "jan", "1")
    again = write_slot(table, AGAIN, "jan", "2")
    before = tree(table)
    assert write_slot(table, AGAIN, "jan", "2").status == "already_committed"
    assert (tree(table), again.status) == (before, "committed")


def test_reuse_writes_nothing_and_tells_of_the_commit_that_is_there(table: Path) -> None:
    first = write_slot(table, JANUARY, "jan", "1")
    before = tree(table)
    result = write_slot(table, AGAIN, "jan", "2", existing="reuse")
    assert (result.status, result.instant) == ("already_committed", first.instant)
    assert (result.records, tree(table)) == (first.records, before)
    assert write_slot(table, FEBRUARY, "feb", "3", existing="reuse").status == "committed"


def test_append_writes_all_the_same(table: Path) -> None:
    write_slot(table, JANUARY, "jan", "1")
    write_slot(table, JANUARY, "jan", "2", existing="append")
    assert rows_of(table) == sorted(tuples(JANUARY) * 2)


def test_an_upsert_of_a_slot_updates_by_key(table: Path) -> None:
    write_slot(table, JANUARY, "jan", "1", "upsert")
    result = write_slot(table, AGAIN, "jan", "2", "upsert")
    assert (result.records["updated"], result.records["inserted"]) == (1, 2)
    assert commit_of(table, result.instant)["operationType"] == "UPSERT"


def test_a_commit_that_was_taken_back_has_filled_no_slot(table: Path) -> None:
    write_slot(table, FEBRUARY, "feb", "1")
    write_slot(table, JANUARY, "jan", "2")
    rolled = pyhudi.open_table(str(table)).timeline.last.time
    rollback_table(HERE, RollbackRequest(base_path=str(table), instant=rolled))
    assert write_slot(table, AGAIN, "jan", "3", existing="reuse").status == "committed"


def test_a_slot_is_found_in_the_archive_since_the_time_that_is_said(table: Path) -> None:
    few = {
        **OPTIONS,
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }
    first = write_slot(table, JANUARY, "jan", "1", options=few)
    for number in range(5):
        write_slot(table, FEBRUARY, "feb", f"f{number}", options=few)
    timeline = pyhudi.open_table(str(table)).timeline
    assert not timeline.contains(first.instant)
    late = {**few, "pyhudi.slot.since": "2100-01-01"}
    found = write_slot(table, AGAIN, "jan", "2", options=late, existing="reuse")
    assert found.status == "committed"
    write_slot(table, AGAIN, "jan", "3", options=few)
    assert rows_of(table) == sorted([*tuples(AGAIN), *tuples(FEBRUARY)])


@pytest.mark.parametrize(
    ("operation", "options"),
    [
        ("upsert", OPTIONS),
        ("delete", OPTIONS),
        ("insert", {**OPTIONS, "hoodie.datasource.insert.dup.policy": "drop"}),
        ("insert", BUCKETS),
    ],
)
def test_what_cannot_be_replaced_is_refused_when_it_is_asked_for_and_else_appended(
    table: Path, operation: str, options: Mapping[str, str]
) -> None:
    with pytest.raises(OptionError, match=r"pyhudi\.slot\.existing is replace"):
        write_slot(table, JANUARY, "jan", "1", operation, options, "replace")
    assert not table.exists()
    write_slot(table, JANUARY, "jan", "1", "upsert", options)
    assert write_slot(table, JANUARY, "jan", "2", operation, options).status in (
        "committed",
        "nothing_to_do",
    )


def test_rows_without_meta_columns_are_not_known_by_their_commit(table: Path) -> None:
    write_slot(table, JANUARY, "jan", "1", "bulk_insert", UNKEYED)
    with pytest.raises(UnsupportedError, match="no meta columns"):
        write_slot(table, AGAIN, "jan", "2", "bulk_insert", UNKEYED, "replace")


SINCE = "2013-02-01T00:00:00+00:00"
ORDERED = {
    **WITHOUT_ORDERING,
    "hoodie.datasource.write.precombine.field": "until",
}


def test_older_data_never_beats_newer_where_the_source_has_no_ordering_column(
    table: Path,
) -> None:
    def months(*numbers: int) -> None:
        for month in numbers:
            value = {"pyhudi.ordering.value": f"2013-{month:02}-01T00:00:00Z"}
            write(table, orders(("k", "p", 1, f"month {month}")), "upsert", {**ORDERED, **value})

    months(3, 5, 1, 4, 2)
    assert rows_of(table) == [("k", "p", 1, "month 5")]
    (until,) = pyhudi.read_table(str(table))["until"].to_pylist()
    assert until == datetime(2013, 5, 1, tzinfo=timezone.utc)
    months(5)
    assert pyhudi.open_table(str(table)).config.ordering_fields == ("until",)


def test_the_same_interval_again_wins_over_itself(table: Path) -> None:
    for value in ("first", "second"):
        options = {**ORDERED, "pyhudi.ordering.value": SINCE}
        write(table, orders(("k", "p", 1, value)), "upsert", options)
    assert rows_of(table) == [("k", "p", 1, "second")]


def test_a_delete_of_older_data_deletes_no_newer_row(table: Path) -> None:
    newer, older = ({**ORDERED, "pyhudi.ordering.value": f"2013-0{m}-01T00:00:00Z"} for m in (5, 2))
    write(table, orders(("k", "p", 1, "newer")), "upsert", newer)
    gone = orders(("k", "p", 1, "gone")).append_column(
        "_hoodie_is_deleted", pa.array([True], pa.bool_())
    )
    write(table, gone, "upsert", older)
    assert rows_of(table) == [("k", "p", 1, "newer")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**OPTIONS, "pyhudi.ordering.value": SINCE}, "the source has the column ts"),
        ({**WITHOUT_ORDERING, "pyhudi.ordering.value": SINCE}, "names none"),
        ({**ORDERED, "pyhudi.ordering.value": "yesterday"}, "a time as in"),
        ({**ORDERED, "pyhudi.ordering.value": "2013-02-01T00:00:00"}, "with a zone"),
    ],
)
def test_an_ordering_value_that_cannot_be_had_is_refused(
    table: Path, options: Mapping[str, str], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        write(table, JANUARY, "upsert", options)
    assert not table.exists()


def test_a_commit_says_of_which_slot_it_is(table: Path) -> None:
    result = write_slot(table, JANUARY, "jan", "1")
    extra = json.loads(json.dumps(commit_of(table, result.instant)["extraMetadata"]))
    assert (extra["pyhudi.slot.key"], extra["pyhudi.idempotency.key"]) == ("jan", "1")
