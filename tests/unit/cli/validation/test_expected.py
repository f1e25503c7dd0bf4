"""Which files must be there, by what was written, replaced and cleaned."""

import pytest

from pyhudi.cli.validation.expected import EVERYTHING, NEWEST_ALONE, Retained, required_files

GROUP = [f"p/g_0-0-0_{instant}.parquet" for instant in ("10", "20", "30")]
LOGS = [f"p/.g_{instant}.log.1_0-0-0" for instant in ("10", "30", "40")]


@pytest.mark.parametrize(
    ("since", "kept"),
    [
        (EVERYTHING, GROUP),
        ("10", GROUP),
        ("15", GROUP),
        ("20", GROUP),
        ("25", GROUP[1:]),
        ("30", GROUP[1:]),
        ("35", GROUP[2:]),
        (NEWEST_ALONE, GROUP[2:]),
    ],
)
def test_a_clean_keeps_the_newest_slice_before_what_it_retains(since: str, kept: list[str]) -> None:
    assert required_files(GROUP, Retained(since=since)) == {*kept}


def test_log_files_are_kept_with_their_slices() -> None:
    found = required_files([*GROUP, *LOGS], Retained(since="30"))
    assert found == {GROUP[1], GROUP[2], LOGS[1], LOGS[2]}


def test_the_slice_below_a_compaction_that_has_not_run_is_kept() -> None:
    kept = Retained(since=NEWEST_ALONE, compacting=frozenset({"40"}))
    assert required_files([*GROUP, *LOGS], kept) == {GROUP[2], LOGS[1], LOGS[2]}


@pytest.mark.parametrize(("since", "count"), [(EVERYTHING, 3), ("30", 2), ("31", 0), ("9", 0)])
def test_a_replaced_group_is_kept_until_its_replacement_is_not_retained(
    since: str, count: int
) -> None:
    kept = Retained(since=since, replaced={("p", "g"): "30"})
    assert len(required_files(GROUP, kept)) == count


def test_what_a_clean_says_it_deleted_need_not_be_there() -> None:
    kept = Retained(since=EVERYTHING, cleaned=frozenset({GROUP[0].rpartition("/")[2]}))
    assert required_files(GROUP, kept) == {*GROUP[1:]}


def test_names_that_are_no_data_files_are_nobodys() -> None:
    assert required_files(["p/README", ".hoodie_partition_metadata"], Retained(since="0")) == set()
