"""Which tables there are: those of connections, and those that the configuration lists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from airflow.configuration import conf
from airflow.models import Connection
from airflow.sdk.exceptions import AirflowException
from airflow.utils.session import create_session
from sqlalchemy import select

from airflow_provider_pyhudi.assets.uri import asset_uri
from airflow_provider_pyhudi.connections import PYHUDI
from airflow_provider_pyhudi.exceptions import NoSuchPlaceError, PyhudiRequestError
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.page.rights import Rights
from pyhudi.errors import HudiError, OptionError

SECTION = "pyhudi"
TABLES = "page_tables"
CONNECTIONS = "page_connections"
LISTED = ""
"""Stands where a connection would for a table that the configuration lists."""

_MOST = 500
_THREADS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A table that may be looked at. ``conn_id`` is ``LISTED`` where no connection leads to it."""

    conn_id: str
    name: str
    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The tables of a connection, or those that are listed; ``problem`` says why there are none.

    ``is_cut`` when there are more than are named.
    """

    conn_id: str
    places: tuple[Place, ...] = ()
    problem: str | None = None
    is_cut: bool = False


def groups(rights: Rights) -> list[Group]:
    """All that a user may see, the listed tables first."""
    found = [_listed_group()] if conf.get(SECTION, TABLES, fallback="") else []
    allowed = (conn_id for conn_id in _connections() if rights.may_read_connection(conn_id))
    return found + [_group(conn_id) for conn_id in allowed]


def find_place(rights: Rights, conn_id: str, name: str) -> Place:
    """The table of a connection, or of the configuration, by its name.

    Raises:
        NoSuchPlaceError: there is none for this user.
        AirflowException: the configuration or the connection cannot be used.
        HudiError: the storage cannot be read.
    """
    if conn_id == LISTED:
        found = {place.name: place for place in _listed()}.get(name)
    elif conn_id in _connections() and rights.may_read_connection(conn_id):
        hook = PyhudiHook(conn_id)
        found = _place(hook, name) if name in _folders(hook) and _is_table(hook, name) else None
    else:
        found = None
    if found is None:
        raise NoSuchPlaceError(name)
    return found


def places(rights: Rights) -> Iterator[Place]:
    """The tables of all groups."""
    for group in groups(rights):
        yield from group.places


def is_same_table(path: str, other: str) -> bool:
    """Whether two paths or URIs name one folder, as assets are told apart."""
    try:
        return asset_uri(path) == asset_uri(other)
    except OptionError:
        return False


def _connections() -> list[str]:
    """The connections of type ``pyhudi`` in Airflow's database, and those named beside them."""
    with create_session() as session:
        there = session.scalars(select(Connection.conn_id).where(Connection.conn_type == PYHUDI))
        found = set(there)
    named = conf.get(SECTION, CONNECTIONS, fallback="") or ""
    return sorted(found | {name.strip() for name in named.split(",") if name.strip()})


def _group(conn_id: str) -> Group:
    try:
        hook = PyhudiHook(conn_id)
        folders = _folders(hook)
        with ThreadPoolExecutor(max_workers=_THREADS) as threads:
            are_tables = list(threads.map(lambda name: _is_table(hook, name), folders[:_MOST]))
    except (AirflowException, HudiError) as error:
        return Group(conn_id=conn_id, problem=str(error))
    names = [name for name, is_one in zip(folders, are_tables, strict=False) if is_one]
    return Group(
        conn_id=conn_id,
        places=tuple(_place(hook, name) for name in names),
        is_cut=len(folders) > _MOST,
    )


def _folders(hook: PyhudiHook) -> list[str]:
    """The folders in the base folder of a connection."""
    from pyhudi.storage.schemes import open_storage

    storage = open_storage(hook.table_uri(""), hook.storage_options)
    found = sorted(each.name for each in storage.list("") if each.is_dir)
    if not found and not storage.exists(""):
        raise PyhudiRequestError(
            f"the base folder {storage.uri} of the connection {hook.pyhudi_conn_id!r} is not there"
        )
    return found


def _is_table(hook: PyhudiHook, name: str) -> bool:
    from pyhudi.storage.schemes import open_storage

    storage = open_storage(hook.table_uri(name), hook.storage_options)
    return storage.exists(".hoodie")


def _place(hook: PyhudiHook, name: str) -> Place:
    return Place(
        conn_id=str(hook.pyhudi_conn_id),
        name=name,
        path=hook.table_uri(name),
        storage_options=hook.storage_options,
    )


def _listed_group() -> Group:
    try:
        return Group(conn_id=LISTED, places=tuple(_listed()))
    except AirflowException as error:
        return Group(conn_id=LISTED, problem=str(error))


def _listed() -> Iterator[Place]:
    """The tables that the configuration names."""
    for name, said in _texts().items():
        entry = {"path": said} if isinstance(said, str) else said
        if not isinstance(entry, Mapping) or not isinstance(entry.get("path"), str):
            raise PyhudiRequestError(
                f"[{SECTION}] {TABLES} has {name!r} without a path; it takes JSON such as "
                f'{{"{name}": "/data/lake/{name}"}}, or {{"path": ..., "conn_id": ...}} in place '
                "of the path"
            )
        hook = PyhudiHook(entry.get("conn_id"))
        yield Place(
            conn_id=LISTED,
            name=name,
            path=hook.table_uri(entry["path"]),
            storage_options=hook.storage_options,
        )


def _texts() -> Mapping[str, Any]:
    text = conf.get(SECTION, TABLES, fallback="") or "{}"
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise PyhudiRequestError(
            f"[{SECTION}] {TABLES} is no JSON object of names and paths, such as "
            '{"orders": "/data/lake/orders"}'
        )
    return found
