"""Sensors in one triggerer that wait for one table share its listings."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from airflow_provider_pyhudi.watch import together
from pyhudi.errors import StorageError
from pyhudi.storage.arrowfs import ArrowStorage
from tests.support.airflow import stamped_commit, timeline_folder

FIRST, SECOND = "20260101000000000", "20260102000000000"


class Listings:
    """How often a storage was listed; the next ones fail as often as they are told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.failing = 0, 0
        list_folder = ArrowStorage.list

        def counted(storage: ArrowStorage, path: str) -> Any:
            self.count += 1
            if self.failing:
                self.failing -= 1
                raise StorageError("no network")
            return list_folder(storage, path)

        monkeypatch.setattr(ArrowStorage, "list", counted)


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> Listings:
    return Listings(monkeypatch)


@pytest.fixture
def table(tmp_path: Path) -> str:
    return timeline_folder(tmp_path / "flights", f"{FIRST}.commit")


def waiting(table: str, **settings: Any) -> PyhudiInstantTrigger:
    return PyhudiInstantTrigger(
        base_path=table, **({"after": FIRST, "poke_interval": 0.2} | settings)
    )


async def events(*triggers: PyhudiInstantTrigger) -> list[Any]:
    found = await asyncio.gather(*(anext(each.run()) for each in triggers))
    return [each.payload for each in found]


async def landing(table: str, after_s: float) -> None:
    await asyncio.sleep(after_s)
    stamped_commit(table, SECOND, "x")


@pytest.mark.parametrize("sensors", [1, 200])
def test_two_hundred_sensors_list_a_table_as_one_does(
    table: str, listings: Listings, sensors: int
) -> None:
    async def wait() -> list[Any]:
        partitions = ({"partition": [f"p{each}", "x"]} for each in range(sensors))
        triggers = [waiting(table, **each) for each in partitions]
        return list((await asyncio.gather(events(*triggers), landing(table, 1.0)))[0])

    begun = time.monotonic()
    assert asyncio.run(wait()) == [{"status": "found", "found": SECOND}] * sensors
    most = (time.monotonic() - begun) / 0.2 + 2
    assert 1 <= listings.count <= most


def test_who_comes_between_two_listings_is_answered_by_the_last(
    table: str, listings: Listings
) -> None:
    async def both() -> list[Any]:
        first = asyncio.create_task(events(waiting(table, poke_interval=60)))
        while not listings.count:
            await asyncio.sleep(0.01)
        found = await asyncio.wait_for(
            events(waiting(table, after=None, poke_interval=60)), timeout=10
        )
        first.cancel()
        return found

    assert asyncio.run(both()) == [{"status": "found", "found": FIRST}]
    assert listings.count == 1


def test_the_most_impatient_sensor_says_how_often_the_table_is_listed(table: str) -> None:
    async def wait() -> list[Any]:
        patient, hasty = waiting(table, poke_interval=60), waiting(table)
        found = await asyncio.gather(events(patient, hasty), landing(table, 0.3))
        return list(found[0])

    found = asyncio.run(asyncio.wait_for(wait(), timeout=20))
    assert found == [{"status": "found", "found": SECOND}] * 2


def test_a_storage_that_fails_now_and_then_fails_nobody(table: str, listings: Listings) -> None:
    listings.failing = together.PATIENCE - 1

    async def wait() -> list[Any]:
        return list((await asyncio.gather(events(waiting(table)), landing(table, 0.1)))[0])

    assert asyncio.run(wait()) == [{"status": "found", "found": SECOND}]


def test_a_storage_that_goes_on_failing_is_told_to_all_who_wait(
    table: str, listings: Listings
) -> None:
    listings.failing = 100
    found = asyncio.run(events(*(waiting(table) for _ in range(3))))
    assert [(each["status"], each["exit_code"]) for each in found] == [("failed", 4)] * 3
    assert all("no network" in each["message"] for each in found)
    assert listings.count == together.PATIENCE


def test_a_connection_that_is_wrong_is_told_to_all_who_wait(table: str) -> None:
    found = asyncio.run(events(*(waiting(table, pyhudi_conn_id="none") for _ in range(3))))
    assert [(each["status"], each["exit_code"]) for each in found] == [("failed", 2)] * 3
    assert all("there is no pyhudi connection 'none'" in each["message"] for each in found)


def test_one_wrong_commit_fails_only_those_who_ask_what_it_says(table: str) -> None:
    Path(table, ".hoodie", f"{SECOND}.commit").write_text("[]", encoding="utf-8")
    found = asyncio.run(events(waiting(table), waiting(table, partition="x")))
    assert found[0] == {"status": "found", "found": SECOND}
    assert (found[1]["status"], found[1]["exit_code"]) == ("failed", 2)


def test_nothing_is_left_of_a_watch_when_all_have_gone(table: str) -> None:
    async def wait() -> int:
        waits = [asyncio.create_task(events(waiting(table))) for _ in range(5)]
        await asyncio.sleep(0.1)
        for each in waits:
            each.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        # A generator that nobody holds is closed by the loop.
        await asyncio.sleep(0.05)
        return len(together._LOOPS[asyncio.get_running_loop()])

    assert asyncio.run(wait()) == 0
