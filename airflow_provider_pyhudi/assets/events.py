"""What happened to a table, as events of its asset tell it: those of tasks and of watchers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_pyhudi.assets.uri import SCHEME


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEvent:
    """What one event says; of a watcher's ``instants`` may be the newest of ``count``.

    ``operations`` are those of the commits. Counts are over all of them, ``partitions`` at most the
    first hundred; the event of one partition, of ``partitions_asset``, has this one and no counts.
    """

    asset: str
    base_path: str
    instants: tuple[str, ...]
    count: int
    operations: tuple[str, ...]
    records: Mapping[str, int]
    partitions: tuple[str, ...]
    is_watched: bool


def events_from(context: Mapping[str, Any]) -> list[TableEvent]:
    """The events of tables that started this run, or that the task has for inlets; oldest first.

    Those of tasks and of watchers are told alike. A task that wrote nothing has no instants.
    """
    started = context.get("triggering_asset_events") or {}
    found = [_event(asset, each) for asset, events in started.items() for each in events]
    if not found and (inlets := context.get("inlet_events")):
        task = context.get("task")
        for asset in getattr(task, "inlets", None) or ():
            if _uri(asset).startswith(f"{SCHEME}:"):
                found += [_event(asset, each) for each in inlets[asset]]
    told = (each for each in found if each is not None)
    return sorted(told, key=lambda each: each.instants[-1:] or ("",))


def instants_from(context: Mapping[str, Any]) -> list[str]:
    """The instants of ``events_from``, each once, oldest first.

    Not: a full account. Airflow may start one run for many events, and an event of a watcher names
    the newest of its instants; who must miss none reads with ``changes_of``.
    """
    return sorted({instant for each in events_from(context) for instant in each.instants})


def _event(asset: Any, event: Any) -> TableEvent | None:
    given = dict(event.extra or {})
    is_watched = bool(given.get("from_trigger"))
    told = given.get("payload") if is_watched else given
    if not isinstance(told, Mapping) or "base_path" not in told:
        return None
    one = [told["instant"]] if told.get("instant") else []
    instants = tuple(map(str, told.get("instants") or one))
    partitions = told.get("partitions") or getattr(event, "partition_key", None)
    return TableEvent(
        asset=_uri(asset),
        base_path=str(told["base_path"]),
        instants=instants,
        count=int(told.get("count") or len(instants)),
        operations=tuple(_texts(told.get("operations") or told.get("operation"))),
        records={name: int(value) for name, value in (told.get("records") or {}).items()},
        partitions=tuple(_texts(partitions)),
        is_watched=is_watched,
    )


def _uri(asset: Any) -> str:
    return str(getattr(asset, "uri", None) or getattr(asset, "name", asset))


def _texts(given: str | Iterable[Any] | None) -> list[str]:
    if not given:
        return []
    return [given] if isinstance(given, str) else [str(each) for each in given]
