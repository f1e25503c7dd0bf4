"""The watcher of commits under Airflow's own manager of shared streams, and its mark."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.definitions.asset import AssetWatcher
from airflow.triggers.shared_stream import SharedStreamManager

from airflow_provider_pyhudi.assets.table import table_asset
from airflow_provider_pyhudi.triggers.commits import PyhudiCommitTrigger
from pyhudi.storage.schemes import open_storage
from pyhudi.timeline.clock import SystemClock
from tests.support.airflow import stamped_commit, timeline_folder
from tests.support.golden import GoldenReplay, golden_instants
from tests.support.in_process import APPENDED, ARCHIVING, REWRITTEN, compaction, write


def at(number: int) -> str:
    """An instant, as many seconds after midnight."""
    return f"20260101{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}000"


class Store:
    """The store of an asset, which outlives triggerers."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    async def aget(self, key: str) -> Any:
        return json.loads(self.values[key]) if key in self.values else None

    async def aset(self, key: str, value: Any) -> None:
        self.values[key] = json.dumps(value)


class Shared(Store):
    """The store of a trigger that several assets have."""

    async def aget(self, key: str) -> Any:
        raise ValueError("Task has 2 concrete inlets and outlets")


class Triggerer:
    """Runs watchers as Airflow's triggerer does; dies without a word when it is left."""

    def __init__(self, *, stores_events: bool = True) -> None:
        self.manager = SharedStreamManager()
        self.events: list[Any] = []
        self.stores_events = stores_events
        self._tasks: list[asyncio.Task[None]] = []

    def watch(self, trigger: PyhudiCommitTrigger, store: Store) -> None:
        trigger.asset_state_store = store
        self._tasks.append(asyncio.create_task(self._run(len(self._tasks), trigger)))

    async def _run(self, number: int, trigger: PyhudiCommitTrigger) -> None:
        key = trigger.shared_stream_key()
        assert key is not None
        stream = self.manager.subscribe(trigger_id=number, trigger=trigger, key=key)
        async for event in trigger.filter_shared_stream(stream):
            seq = self.manager.bind_pending_event(trigger_id=number, key=key)
            if self.stores_events:
                self.events.append(event.payload)
                assert seq is not None
                self.manager.confirm_persisted([seq])

    async def until(self, is_so: Callable[[], bool]) -> None:
        async def wait() -> None:
            while not is_so():
                for task in self._tasks:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.01)

        await asyncio.wait_for(wait(), timeout=30)

    async def __aenter__(self) -> "Triggerer":
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.manager.stop_all()


@pytest.fixture
def table(tmp_path: Path) -> str:
    return timeline_folder(tmp_path / "flights", f"{at(1)}.commit")


def trigger(table: str, **settings: Any) -> PyhudiCommitTrigger:
    return PyhudiCommitTrigger(base_path=table, **({"poke_interval": 0.05} | settings))


def told(events: list[Any]) -> list[str]:
    return [instant for each in events for instant in each["instants"]]


def mark(store: Store) -> Any:
    (value,) = store.values.values()
    return json.loads(value)


def test_commits_that_anybody_makes_are_told_of_with_what_they_did(table: str) -> None:
    async def run() -> list[Any]:
        async with Triggerer() as triggerer:
            store = Store()
            triggerer.watch(trigger(table), store)
            await triggerer.until(lambda: bool(store.values))
            stamped_commit(table, at(2), "JFK", "EWR")
            stamped_commit(table, at(3), "JFK", operation="COMPACT")
            await triggerer.until(lambda: bool(triggerer.events))
            return triggerer.events

    (event,) = asyncio.run(run())
    assert event == {
        "base_path": table,
        "from_instant": at(2),
        "to_instant": at(2),
        "instants": [at(2)],
        "count": 1,
        "operations": ["upsert"],
        "records": {"inserted": 2, "updated": 0, "deleted": 0},
        "bytes_written": 0,
        "partitions": ["EWR", "JFK"],
        "partition_count": 2,
    }


@pytest.mark.parametrize("name", ["v6_cow_basic", "v6_mor_basic", "v9_cow_basic", "v9_mor_basic"])
def test_commits_of_hudi_are_told_of_as_they_are_completed(tmp_path: Path, name: str) -> None:
    table = GoldenReplay(name, tmp_path)
    first, *later = sorted(each["requested"] for each in golden_instants(name))

    async def run() -> list[Any]:
        async with Triggerer() as triggerer:
            store = Store()
            table.go_on()
            triggerer.watch(trigger(str(table.path)), store)
            await triggerer.until(lambda: first in (mark(store)["told"] if store.values else ()))
            while table:
                table.go_on()
                await triggerer.until(lambda: len(told(triggerer.events)) == 2 - len(table))
            return triggerer.events

    events = asyncio.run(run())
    assert told(events) == later
    assert [each["operations"] for each in events] == [["upsert"], ["delete"]]
    assert [each["records"] for each in events] == [
        {"inserted": 8, "updated": 10, "deleted": 0},
        {"inserted": 0, "updated": 0, "deleted": 4},
    ]
    assert {*events[0]["partitions"]} == {"north", "south", "west"}


def test_a_burst_is_told_of_in_few_events_and_each_commit_once(table: str) -> None:
    burst = [at(number) for number in range(2, 302)]

    async def run() -> list[Any]:
        async with Triggerer() as triggerer:
            store = Store()
            triggerer.watch(trigger(table), store)
            await triggerer.until(lambda: bool(store.values))
            for number, time in enumerate(burst):
                stamped_commit(table, time, "x")
                if number % 100 == 50:
                    await asyncio.sleep(0.2)
            await triggerer.until(lambda: sum(each["count"] for each in triggerer.events) == 300)
            return triggerer.events

    events = asyncio.run(run())
    assert len(events) <= 10
    assert sum(each["records"]["inserted"] for each in events) == 300
    assert events[0]["from_instant"] == burst[0]
    assert events[-1]["to_instant"] == burst[-1]
    assert max(len(each["instants"]) for each in events) <= 100


def test_a_commit_that_ends_after_later_ones_is_told_of(table: str) -> None:
    async def run() -> list[str]:
        async with Triggerer() as triggerer:
            store = Store()
            triggerer.watch(trigger(table), store)
            await triggerer.until(lambda: bool(store.values))
            Path(table, ".hoodie", f"{at(2)}.commit.requested").touch()
            stamped_commit(table, at(3_000), "x")
            await triggerer.until(lambda: at(3_000) in told(triggerer.events))
            await triggerer.until(lambda: at(3_000) in mark(store)["told"])
            stamped_commit(table, at(2), "x")
            await triggerer.until(lambda: at(2) in told(triggerer.events))
            return told(triggerer.events)

    assert asyncio.run(run()) == [at(3_000), at(2)]


def test_a_commit_whose_clock_lags_is_told_of(table: str) -> None:
    async def run() -> list[str]:
        async with Triggerer() as triggerer:
            store = Store()
            triggerer.watch(trigger(table), store)
            await triggerer.until(lambda: bool(store.values))
            stamped_commit(table, at(500), "x")
            await triggerer.until(lambda: at(500) in told(triggerer.events))
            stamped_commit(table, at(300), "x")
            await triggerer.until(lambda: at(300) in told(triggerer.events))
            return told(triggerer.events)

    assert asyncio.run(run()) == [at(500), at(300)]


def test_a_triggerer_that_starts_again_goes_on_from_what_was_told(table: str) -> None:
    store = Store()

    async def run(events: int) -> list[str]:
        async with Triggerer() as triggerer:
            triggerer.watch(trigger(table), store)
            await triggerer.until(lambda: len(told(triggerer.events)) >= events)
            last = max(told(triggerer.events), default=at(1))
            await triggerer.until(lambda: bool(store.values) and last in mark(store)["told"])
            return told(triggerer.events)

    assert asyncio.run(run(0)) == []
    for number in (2, 3):
        stamped_commit(table, at(number), "x")
    assert asyncio.run(run(2)) == [at(2), at(3)]
    stamped_commit(table, at(4), "x")
    assert asyncio.run(run(1)) == [at(4)]


def test_an_event_that_airflow_did_not_store_is_made_again(table: str) -> None:
    store = Store()

    async def first() -> None:
        async with Triggerer(stores_events=False) as triggerer:
            triggerer.watch(trigger(table), store)
            await triggerer.until(lambda: bool(store.values))
            stamped_commit(table, at(2), "x")
            await asyncio.sleep(0.5)

    async def second() -> list[str]:
        async with Triggerer() as triggerer:
            triggerer.watch(trigger(table), store)
            await triggerer.until(lambda: bool(triggerer.events))
            return told(triggerer.events)

    asyncio.run(first())
    assert asyncio.run(second()) == [at(2)]


def test_commits_that_were_archived_while_nobody_watched_are_told_of(tmp_path: Path) -> None:
    path, storage, clock = str(tmp_path), open_storage(str(tmp_path)), SystemClock()
    options = {**REWRITTEN, **ARCHIVING}
    store, made = Store(), []

    def commit(times: int) -> None:
        for _ in range(times):
            done = write(storage, {("x", "a"): (1, "a")}, clock, options=options)
            made.append(done.instant)

    async def run(events: int) -> list[str]:
        async with Triggerer() as triggerer:
            triggerer.watch(trigger(path), store)
            await triggerer.until(
                lambda: bool(store.values) and len(told(triggerer.events)) >= events
            )
            return told(triggerer.events)

    commit(1)
    assert asyncio.run(run(0)) == []
    commit(8)
    assert not (tmp_path / ".hoodie" / f"{made[1]}.commit").exists()
    assert asyncio.run(run(8)) == made[1:]


def test_a_compaction_of_a_table_wakes_nobody(tmp_path: Path) -> None:
    storage, clock = open_storage(str(tmp_path)), SystemClock()

    async def run() -> list[str]:
        async with Triggerer() as triggerer:
            store = Store()
            triggerer.watch(trigger(str(tmp_path)), store)
            write(storage, {("x", "a"): (1, "a")}, clock, options=APPENDED)
            await triggerer.until(lambda: bool(store.values))
            write(storage, {("x", "a"): (2, "b")}, clock, options=APPENDED)
            service = compaction(storage, clock)
            service.schedule()
            service.execute(service.oldest_pending())
            last = write(storage, {("x", "b"): (2, "b")}, clock, options=APPENDED)
            await triggerer.until(lambda: last.instant in told(triggerer.events))
            return told(triggerer.events)

    assert len(asyncio.run(run())) == 2


def test_several_watchers_of_a_table_share_a_look_and_are_told_each(table: str) -> None:
    async def run() -> tuple[list[Any], int]:
        async with Triggerer() as triggerer:
            stores = [Store() for _ in range(3)]
            for store, start in zip(stores, ("latest", "earliest", "latest"), strict=True):
                triggerer.watch(trigger(table, start=start), store)
            await triggerer.until(lambda: all(store.values for store in stores))
            stamped_commit(table, at(2), "x")
            await triggerer.until(lambda: told(triggerer.events).count(at(2)) == 3)
            return triggerer.events, len(triggerer.manager._groups)

    events, groups = asyncio.run(run())
    assert sorted(told(events)) == [at(1), at(2), at(2), at(2)]
    assert groups == 1


def test_a_watcher_outlives_a_storage_that_fails(table: str, monkeypatch) -> None:
    from pyhudi.errors import StorageError
    from pyhudi.storage.arrowfs import ArrowStorage

    failing, list_folder = [True], ArrowStorage.list

    def listed(storage: ArrowStorage, path: str) -> Any:
        if failing[0]:
            raise StorageError("no network")
        return list_folder(storage, path)

    monkeypatch.setattr(ArrowStorage, "list", listed)

    async def run() -> list[str]:
        async with Triggerer() as triggerer:
            store = Store()
            triggerer.watch(trigger(table, start="earliest"), store)
            await asyncio.sleep(0.5)
            failing[0] = False
            await triggerer.until(lambda: bool(triggerer.events))
            return told(triggerer.events)

    assert asyncio.run(run()) == [at(1)]


def test_one_store_for_several_assets_is_no_store(table: str) -> None:
    async def run() -> list[str]:
        async with Triggerer() as triggerer:
            triggerer.watch(trigger(table, start="earliest"), Shared())
            await triggerer.until(lambda: bool(triggerer.events))
            return told(triggerer.events)

    assert asyncio.run(run()) == [at(1)]


def test_the_trigger_runs_without_a_manager_too(table: str) -> None:
    async def run() -> Any:
        return await asyncio.wait_for(anext(trigger(table, start="earliest").run()), timeout=20)

    assert asyncio.run(run()).payload["instants"] == [at(1)]


def test_the_asset_of_a_table_has_a_watcher_that_survives_serialisation() -> None:
    asset = table_asset("/lake/flights", watch=True, poke_interval=5)
    (watcher,) = asset.watchers
    assert isinstance(watcher, AssetWatcher)
    path, arguments = watcher.trigger.serialize()
    again = import_string(path)(**json.loads(json.dumps(arguments)))
    assert again.serialize() == (path, arguments)
    assert again.shared_stream_key() == watcher.trigger.shared_stream_key()
    assert asset.uri == table_asset("/lake/flights").uri
