"""How log files are merged: which columns it takes, which blocks count."""

from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.config.options.merging import MergeMode
from pyhudi.fileslice.reading import SliceReading
from pyhudi.fileslice.span import RequestedSpan
from pyhudi.table.slice_reading import slice_reading
from tests.support.mor_table import COMMIT_TIME, MorTable, moment

ALWAYS = {"_hoodie_record_key", "_hoodie_is_deleted", "_hoodie_operation"}


def planned(
    path: Path, *, begin: str | None = None, as_of: str | None = None, **more
) -> SliceReading:
    made = MorTable.make(path / "t", **more)
    for time in "1236":
        made.instant(time)
    made.instant("4", "deltacommit.inflight")
    table = pyhudi.open_table(str(made.path))
    span = None if begin is None else RequestedSpan(after=begin)
    return slice_reading(table, table.schema(), as_of=as_of, span=span)


def test_merging_takes_the_key_what_orders_and_what_deletes(tmp_path: Path) -> None:
    merge = planned(tmp_path)
    assert merge.rule.mode is MergeMode.EVENT_TIME
    assert merge.columns(["name"], ["id", "ts", "name"]) == {"name", "ts", *ALWAYS}


def test_by_commit_time_nothing_orders(tmp_path: Path) -> None:
    merge = planned(tmp_path, hoodie_compaction_payload_class=COMMIT_TIME)
    assert merge.columns([], ["id", "ts"]) == ALWAYS


def test_changes_since_an_instant_take_the_commit_time(tmp_path: Path) -> None:
    assert "_hoodie_commit_time" in planned(tmp_path, begin=moment("1")).columns([], [])


@pytest.mark.parametrize(
    ("key_fields", "keys"), [("id", ["a"]), ("id,ts", ["id:a,ts:7"])], ids=["simple", "complex"]
)
def test_keys_of_tables_that_keep_none_are_made(tmp_path: Path, key_fields: str, keys) -> None:
    merge = planned(
        tmp_path, hoodie_populate_meta_fields="false", hoodie_table_recordkey_fields=key_fields
    )
    assert set(key_fields.split(",")) <= merge.columns([], [])
    assert merge.keys_of(pa.table({"id": ["a"], "ts": [7]})).to_pylist() == keys


@pytest.mark.parametrize(
    ("begin", "as_of", "counted"),
    [(None, None, "01236"), ("1", None, "236"), (None, "3", "0123"), ("1", "3", "23")],
)
def test_blocks_of_committed_writes_in_the_range_count(
    tmp_path: Path, begin: str | None, as_of: str | None, counted: str
) -> None:
    given = {"begin": begin and moment(begin), "as_of": as_of and moment(as_of)}
    is_wanted = planned(tmp_path, **given).instant_test()
    assert "".join(time for time in "0123456789" if is_wanted(moment(time))) == counted
