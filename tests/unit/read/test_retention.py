"""Which moments of a table's past can be read."""

from pathlib import Path

import pytest

import pyhudi
from pyhudi.errors import ConflictError, RequestError
from tests.support.golden import golden_copy, golden_table


@pytest.mark.parametrize("as_of", ["20261121104856505", "20261121104902010", "2026-01-01"])
def test_a_time_that_was_cleaned_is_refused_with_what_is_retained(as_of: str) -> None:
    with pytest.raises(RequestError, match=r"retained begins with 20261121104904445"):
        pyhudi.read_table(golden_table("v6_cow_clean"), as_of=as_of)


def test_a_time_whose_commits_are_archived_is_refused_with_what_is_retained(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_archived", tmp_path)
    with pytest.raises(RequestError, match=r"retained begins with 20261121105157803"):
        pyhudi.read_table(table, as_of="20261121105153747")
    for file in (table / ".hoodie").glob("*.clean*"):
        file.unlink()
    with pytest.raises(RequestError, match=r"commits before 2026112110515\d+ are archived"):
        pyhudi.read_table(table, as_of="20261121105144143")


def test_a_time_after_an_unfinished_write_is_refused_until_it_has_finished() -> None:
    path = golden_table("v6_cow_inflight")
    assert pyhudi.read_table(path).num_rows == 22
    with pytest.raises(ConflictError, match=r"the write 20261121105246167 has not finished"):
        pyhudi.read_table(path, as_of="2026-12-01")


def test_a_pending_clustering_does_not_stop_time_travel() -> None:
    assert pyhudi.read_table(golden_table("v6_cow_pending_clustering"), as_of="2027-01-01").num_rows


def test_an_unfinished_log_compaction_does_not_stop_time_travel(tmp_path: Path) -> None:
    table = golden_copy("v6_mor_logs_avro", tmp_path)
    (table / ".hoodie" / "20261122000000000.logcompaction.inflight").touch()
    assert pyhudi.read_table(table, as_of="2027-01-01").num_rows


def test_changes_across_an_unfinished_write_are_refused(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    (table / ".hoodie" / "20261121111003365.commit").unlink()
    with pytest.raises(ConflictError, match=r"the write 20261121111003365 has not finished"):
        pyhudi.read_table(table, query_type="incremental", begin="20261121110956545")


def test_before_its_first_commit_a_table_has_no_rows_and_says_so(caplog) -> None:
    path = golden_table("v6_cow_hive")
    first = pyhudi.open_table(path).timeline.instants[0].time
    assert pyhudi.read_table(path, as_of="2013-06-01").num_rows == 0
    (record,) = caplog.records
    assert (
        "as_of 20130601000000000 is before the first commit of table v6_cow_hive" in record.message
    )
    assert f", which is {first}" in record.message
    assert (
        "as_of is when rows were committed, not a time that their columns tell of" in record.message
    )


@pytest.mark.parametrize(
    ("begin", "end", "said"),
    [
        pytest.param("earliest", "2013-06-01", "end 20130601000000000 is before", id="before it"),
        pytest.param("2027-01-02", "2027-01-01", "begin 20270102000000000 is after", id="reversed"),
    ],
)
def test_a_range_that_can_hold_no_commit_says_so(begin: str, end: str, said: str, caplog) -> None:
    path = golden_table("v6_cow_hive")
    assert pyhudi.read_table(path, query_type="incremental", begin=begin, end=end).num_rows == 0
    (record,) = caplog.records
    assert said in record.message


def test_a_query_that_can_have_rows_says_nothing(caplog) -> None:
    path = golden_table("v6_cow_hive")
    assert pyhudi.read_table(path, as_of="2027-01-01").num_rows
    pyhudi.read_table(path, query_type="incremental", begin="2027-01-01")
    assert not caplog.records
