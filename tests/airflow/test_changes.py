"""A reader that goes on from its own mark loses no row and has none twice."""

import json
import random
import runpy
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from airflow_provider_pyhudi.assets.changes import changes_of
from airflow_provider_pyhudi.assets.table import table_asset
from pyhudi.errors import HudiError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.table import load_table
from pyhudi.timeline.clock import SystemClock
from tests.support.airflow import stamped_commit, timeline_folder
from tests.support.golden import GoldenReplay, expected_rows, golden_instants, row_texts
from tests.support.in_process import APPENDED, REWRITTEN, Options, compaction, write

DAG_FILE = Path(__file__).resolve().parents[2] / "dags" / "flight_changes.py"


class Stores:
    """What ``context["asset_state_store"]`` is: a store an asset, kept as JSON."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, str]] = {}

    def __getitem__(self, asset: Any) -> SimpleNamespace:
        values = self.values.setdefault(asset.uri, {})

        def get(key: str, default: Any = None) -> Any:
            return json.loads(values[key]) if key in values else default

        def put(key: str, value: Any) -> None:
            values[key] = json.dumps(value)

        return SimpleNamespace(get=get, set=put)


def context(stores: Stores) -> dict[str, Any]:
    return {
        "asset_state_store": stores,
        "ti": SimpleNamespace(dag_id="flight_changes", task_id="keep"),
    }


class DiedError(Exception):
    """The worker was killed."""


def die_after_reading(path: str, stores: Stores, span: tuple[str | None, str | None]) -> None:
    with changes_of(path, context(stores)) as changes:
        assert changes is not None
        assert (changes.begin, changes.end) == span
        raise DiedError


def spans(path: str, stores: Stores) -> list[tuple[str | None, str] | None]:
    with changes_of(path, context(stores)) as found:
        return [None if found is None else (found.begin, found.end)]


VERSIONS = {
    "version 6": {},
    "version 8": {"hoodie.write.table.version": "8"},
    "version 9": {"hoodie.write.table.version": "9"},
}
versions = pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS)


def ends_of(path: str) -> list[str]:
    """When the writes were completed, or requested where only that is told; oldest first."""
    done = load_table(open_storage(path)).timeline.write_instants().completed()
    return sorted(each.completion_time or each.time for each in done)


@pytest.mark.parametrize(
    ("options", "burst"),
    [(REWRITTEN, 50), (APPENDED, 20), ({**REWRITTEN, **VERSIONS["version 9"]}, 20)],
    ids=["copy on write", "merge on read", "copy on write, version 9"],
)
def test_a_reader_that_dies_in_a_burst_loses_and_doubles_no_row(
    tmp_path: Path, options: Options, burst: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the example DAG: commits land while it runs, it is started now and then, and is killed."""
    monkeypatch.setenv("FLIGHTS_LAKE", str(tmp_path))
    keep = runpy.run_path(str(DAG_FILE))["keep"].function
    table, stores, chance = tmp_path / "flights", Stores(), random.Random(7)
    storage, clock = open_storage(str(table)), SystemClock()
    retained = {
        **options,
        "hoodie.clean.commits.retained": "60",
        "hoodie.archive.automatic": "false",
    }
    failures: list[HudiError] = []

    def commit_all() -> None:
        try:
            for number in range(burst):
                write(storage, {("x", f"k{number}"): (number, "a")}, clock, options=retained)
        except HudiError as error:
            failures.append(error)

    write_table, deaths = pq.write_table, 0

    def deadly(rows: Any, where: Any) -> None:
        nonlocal deaths
        if chance.random() < 0.3:
            deaths += 1
            raise DiedError
        write_table(rows, where)

    monkeypatch.setattr(pq, "write_table", deadly)
    writer = threading.Thread(target=commit_all)
    writer.start()
    while True:
        is_over = not writer.is_alive()
        try:
            if keep(**context(stores)) is None and is_over:
                break
        except DiedError:
            continue
    writer.join()
    assert not failures
    kept = sorted((tmp_path / "changes").glob("*.parquet"))
    rows = [pq.read_table(each)["id"].to_pylist() for each in kept]
    assert sorted(key for each in rows for key in each) == sorted(f"k{n}" for n in range(burst))
    assert deaths > 0
    assert len(kept) > 1


@versions
def test_a_try_that_died_reads_the_same_span_again_whatever_came_since(
    tmp_path: Path, version: Options
) -> None:
    storage, clock, stores = open_storage(str(tmp_path)), SystemClock(), Stores()
    options = {**REWRITTEN, **version}
    write(storage, {("x", "a"): (1, "a")}, clock, options=options)
    (first,) = ends_of(str(tmp_path))
    with pytest.raises(DiedError):
        die_after_reading(str(tmp_path), stores, (None, first))
    write(storage, {("x", "b"): (1, "b")}, clock, options=options)
    second = ends_of(str(tmp_path))[-1]
    for span in ((None, first), (first, second), None):
        assert spans(str(tmp_path), stores) == [span]


@versions
def test_rows_that_were_changed_are_read_as_they_are_at_the_end(
    tmp_path: Path, version: Options
) -> None:
    storage, clock, stores = open_storage(str(tmp_path)), SystemClock(), Stores()
    options = {**REWRITTEN, **version}
    write(storage, {("x", "a"): (1, "old"), ("x", "b"): (1, "b")}, clock, options=options)
    with changes_of(str(tmp_path), context(stores)) as changes:
        assert changes is not None
        assert sorted(changes.read(columns=["value"])["value"].to_pylist()) == ["b", "old"]
    for value in ("newer", "newest"):
        write(storage, {("x", "a"): (2, value)}, clock, options=options)
    with changes_of(str(tmp_path), context(stores)) as changes:
        assert changes is not None
        assert changes.read()["value"].to_pylist() == ["newest"]


def test_a_write_that_is_not_completed_ends_the_span_before_it(tmp_path: Path) -> None:
    table, stores = timeline_folder(tmp_path / "flights"), Stores()
    first, second, third = (f"2026010{day}000000000" for day in (1, 2, 3))
    for time in (first, third):
        stamped_commit(table, time, "x")
    Path(table, ".hoodie", f"{second}.commit.requested").touch()
    assert spans(table, stores) == [(None, first)]
    assert spans(table, stores) == [None]
    stamped_commit(table, second, "x")
    assert spans(table, stores) == [(first, third)]


@pytest.mark.parametrize("name", ["v6_cow_basic", "v6_mor_basic", "v9_cow_basic", "v9_mor_basic"])
def test_what_hudi_commits_is_read_on_as_hudi_reads_it(tmp_path: Path, name: str) -> None:
    table, stores, begin = GoldenReplay(name, tmp_path), Stores(), None
    while table:
        end = table.go_on()
        with changes_of(str(table.path), context(stores)) as changes:
            assert changes is not None
            assert (changes.begin, changes.end) == (begin, end)
            rows = row_texts(changes.read())
        last = f"incremental_{begin}_{end}" if table else f"incremental_{begin}"
        assert rows == expected_rows(name, last if begin else f"time_travel_{end}")
        assert spans(str(table.path), stores) == [None]
        begin = end


def test_a_write_that_ends_after_later_ones_is_read_when_it_has_ended(tmp_path: Path) -> None:
    """Of version 9, where no write that is pending holds readers up."""
    table, stores = GoldenReplay("v9_cow_basic", tmp_path), Stores()
    timeline = table.path / ".hoodie" / "timeline"
    table.go_on()
    late = table.go_on()
    (file,) = timeline.glob(f"*_{late}.commit")
    instant, kept = file.name.partition("_")[0], tmp_path / "kept"
    file.rename(kept)
    last, found = table.go_on(), []
    assert spans(str(table.path), stores) == [(None, last)]
    end = str(int(last) + 1)
    kept.rename(timeline / f"{instant}_{end}.commit")
    with changes_of(str(table.path), context(stores)) as changes:
        assert changes is not None
        assert (changes.begin, changes.end) == (last, end)
        found = changes.read(columns=["_hoodie_commit_time"])["_hoodie_commit_time"].to_pylist()
    assert set(found) == {instant}


def test_a_reader_of_a_table_that_is_upgraded_goes_on_where_it_was(tmp_path: Path) -> None:
    """Its mark was the time at which the last write was requested, that of version 6."""
    table, stores = GoldenReplay("v9_cow_basic", tmp_path), Stores()
    requested = min(each["requested"] for each in golden_instants("v9_cow_basic"))
    first, second = table.go_on(), table.go_on()
    store = stores[table_asset(str(table.path))]
    store.set("pyhudi.reader.flight_changes.keep", {"done": requested})
    assert spans(str(table.path), stores) == [(first, second)]


def test_a_compaction_is_nothing_to_read(tmp_path: Path) -> None:
    storage, clock, stores = open_storage(str(tmp_path)), SystemClock(), Stores()
    for number in range(2):
        write(storage, {("x", "a"): (number, "a")}, clock, options=APPENDED)
    assert spans(str(tmp_path), stores) != [None]
    service = compaction(storage, clock)
    service.schedule()
    service.execute(service.oldest_pending())
    assert spans(str(tmp_path), stores) == [None]


def test_readers_of_one_table_have_marks_of_their_own(tmp_path: Path) -> None:
    storage, stores = open_storage(str(tmp_path)), Stores()
    write(storage, {("x", "a"): (1, "a")}, SystemClock())
    for reader in ("one", "two"):
        with changes_of(str(tmp_path), context(stores), reader=reader) as changes:
            assert changes is not None
        with changes_of(str(tmp_path), context(stores), reader=reader) as changes:
            assert changes is None
    assert len(stores.values[table_asset(str(tmp_path)).uri]) == 2


def test_a_table_that_is_not_there_has_nothing_to_read(tmp_path: Path) -> None:
    assert spans(str(tmp_path / "later"), Stores()) == [None]
