"""Events of the commits that anybody makes, for a watcher of a table's asset."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow.sdk.exceptions import AirflowException
from airflow.triggers.base import BaseEventTrigger, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.triggers.waiting import without_secrets
from airflow_provider_pyhudi.watch.commits import CommitsQuestion
from airflow_provider_pyhudi.watch.facts import CommitFacts
from airflow_provider_pyhudi.watch.instants import WRITE_ACTIONS, known_actions
from airflow_provider_pyhudi.watch.table import Look, TableWatch
from airflow_provider_pyhudi.watch.together import looks
from airflow_provider_pyhudi.watch.watermark import Glance, Watermark
from pyhudi.config.options.table import TimelineZone
from pyhudi.errors import HudiError

MOST_NAMED = 100
"""Instants and partitions that one event names: it lies in Airflow's database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A glance with its number, and up to which number Airflow has stored the events."""

    number: int
    stored: int
    glance: Glance


class PyhudiCommitTrigger(BaseEventTrigger):
    """Fire for each look that finds commits which change rows, with all of them in one event.

    The event says ``instants``, of many the newest, their ``count``, ``from_instant`` and
    ``to_instant``, ``records``, ``partitions`` and ``operations``. Compaction and clustering change
    no row and are left out.

    Which commits have been told of is kept in the store of the asset, and only once Airflow has
    stored their event: after a crash they are told of again rather than never. Those that were
    archived meanwhile are found in the archive. All watchers of a table share one look.

    :param base_path: Folder or URI of the table, which need not be there yet.
    :param actions: Actions that count.
    :param storage_options: Options of the storage, without secrets.
    :param pyhudi_conn_id: Connection of type ``pyhudi``.
    :param storage_conn_id: Connection with the keys of the storage.
    :param poke_interval: Seconds between two looks.
    :param start: What the first event of a new watcher tells of: commits after its first look
        (``latest``, the default), or all that the timeline has (``earliest``).
    """

    def __init__(
        self,
        *,
        base_path: str,
        actions: Sequence[str] = WRITE_ACTIONS,
        storage_options: Mapping[str, str] | None = None,
        pyhudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        poke_interval: float = 30.0,
        start: str = "latest",
    ) -> None:
        super().__init__()
        self.asset_state_store: Any = None
        self.base_path = base_path
        self.actions = sorted(actions)
        self.storage_options = without_secrets(storage_options or {})
        self.pyhudi_conn_id = pyhudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.poke_interval = poke_interval
        self.start = start

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments; they never change, since Airflow knows a watcher by them."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "base_path": self.base_path,
                "actions": self.actions,
                "storage_options": self.storage_options,
                "pyhudi_conn_id": self.pyhudi_conn_id,
                "storage_conn_id": self.storage_conn_id,
                "poke_interval": self.poke_interval,
                "start": self.start,
            },
        )

    def shared_stream_key(self) -> Hashable | None:
        """What watchers of one table share, whatever they start from."""
        arguments = self.serialize()[1] | {"start": None}
        return "pyhudi", json.dumps(arguments, sort_keys=True)

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        """The looks at the table, which Airflow tells when events have been stored."""
        return _Looks(cls(**kwargs))

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """The same without Airflow's sharing, as in a test of a DAG."""
        async for event in self.filter_shared_stream(self._alone()):
            yield event

    async def filter_shared_stream(
        self, shared_stream: AsyncIterator[Any]
    ) -> AsyncIterator[TriggerEvent]:
        """An event for each glance that has commits which were not told of."""
        stored = await self._stored()
        mark = None if stored is None else Watermark.from_json(stored)
        unstored: deque[tuple[int, Watermark]] = deque()
        async for told in shared_stream:
            while unstored and unstored[0][0] <= told.stored:
                await self._store(unstored.popleft()[1])
            glance: Glance = told.glance
            if mark is None:
                mark = Watermark() if self.start == "earliest" else Watermark.of(glance)
                await self._store(mark)
            elif mark.has_gap(glance):
                glance = await asyncio.to_thread(self._with_archive, mark.before)
            if news := mark.news(glance.commits):
                yield TriggerEvent(self._payload(news))
            moved = mark.moved(glance)
            if moved != mark:
                mark = moved
                unstored.append((told.number, mark))

    async def _alone(self) -> AsyncIterator[_Told]:
        producer = _Looks(self)
        async for told, number in producer.open_stream():
            yield told
            producer.stored = number

    def _with_archive(self, since: str) -> Glance:
        question = CommitsQuestion(actions=known_actions(self.actions), since=since)
        found = self.watch().one_look(question).found
        if not isinstance(found, Glance):
            # The table has gone since: there is nothing to tell of.
            return Glance(commits=(), start="", pending=None, zone=TimelineZone.UTC)
        return found

    def _payload(self, news: Sequence[CommitFacts]) -> dict[str, Any]:
        instants = [each.instant for each in news]
        partitions = sorted({path for each in news for path in each.partitions})
        return {
            "base_path": self.base_path,
            "from_instant": instants[0],
            "to_instant": instants[-1],
            "instants": instants[-MOST_NAMED:],
            "count": len(instants),
            "operations": sorted({each.operation.lower() for each in news}),
            "records": {
                name: sum(each.records[name] for each in news)
                for name in ("inserted", "updated", "deleted")
            },
            "bytes_written": sum(each.bytes_written for each in news),
            "partitions": partitions[:MOST_NAMED],
            "partition_count": len(partitions),
        }

    def watch(self) -> TableWatch:
        """Looks at the table."""
        hook = PyhudiHook(
            self.pyhudi_conn_id,
            storage_options=self.storage_options,
            storage_conn_id=self.storage_conn_id,
        )
        return hook.watch(self.base_path)

    @property
    def _name(self) -> str:
        what = json.dumps([self.base_path, self.pyhudi_conn_id, self.actions])
        return f"pyhudi.commits.{hashlib.sha256(what.encode()).hexdigest()[:16]}"

    async def _stored(self) -> dict[str, Any] | None:
        if self.asset_state_store is None:
            return None
        try:
            found = await self.asset_state_store.aget(self._name)
        except ValueError:
            # Several assets have this very trigger; Airflow does not say whose store is meant.
            self.log.warning(
                "Several assets watch %s with equal settings: which commits were told of is kept "
                "in memory alone, and forgotten when the triggerer stops. Give the asset of a "
                "table one name",
                self.base_path,
            )
            self.asset_state_store = None
            return None
        return dict(found) if isinstance(found, Mapping) else None

    async def _store(self, mark: Watermark) -> None:
        if self.asset_state_store is not None:
            await self.asset_state_store.aset(self._name, mark.to_json())


class _Looks(SharedStreamProducer):
    """Glances at a table: when it has changed, and each interval."""

    def __init__(self, trigger: PyhudiCommitTrigger) -> None:
        self._trigger = trigger
        self.stored = 0

    async def open_stream(self) -> AsyncIterator[tuple[_Told, int]]:
        """The glances, each with its number."""
        number, glance, interval = 0, None, float(self._trigger.poke_interval)
        following = self._glances()
        coming = asyncio.ensure_future(anext(following))
        try:
            while True:
                # Each interval too: a watcher that came later has been told of nothing yet, and
                # the others are told here what Airflow has stored.
                await asyncio.wait({coming}, timeout=interval)
                if coming.done():
                    glance = coming.result()
                    coming = asyncio.ensure_future(anext(following))
                if glance is not None:
                    number += 1
                    yield _Told(number=number, stored=self.stored, glance=glance), number
        finally:
            coming.cancel()

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Remember up to which glance the events of all watchers are stored."""
        self.stored = max(self.stored, *(int(item.broker_payload) for item in batch))

    async def _glances(self) -> AsyncIterator[Glance]:
        trigger = self._trigger
        question = CommitsQuestion(actions=known_actions(trigger.actions))
        key, interval = trigger.shared_stream_key(), float(trigger.poke_interval)
        while True:
            following = looks(key, trigger.watch, question, interval)
            while (look := await self._next(following)) is not None:
                if isinstance(look.found, Glance):
                    yield look.found
            await asyncio.sleep(interval)

    async def _next(self, following: AsyncIterator[Look]) -> Look | None:
        """The next look; None where it failed, which ends these looks and not the watcher."""
        try:
            return await anext(following)
        except (HudiError, AirflowException) as error:
            self._trigger.log.warning("Looking at %s fails: %s", self._trigger.base_path, error)
            return None
