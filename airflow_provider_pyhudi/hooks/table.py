"""A connection to where tables lie, and read-only questions about their timelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

from airflow_provider_pyhudi.connections import (
    TablesConnection,
    storage_options_of,
    tables_connection,
)
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.hooks.look import Look, look_at, waiting_words
from pyhudi.config.access.secret import passwords_in, redacted
from pyhudi.config.instant_text import parse_exact_instant, parse_instant
from pyhudi.errors import HudiError, OptionError, TableNotFoundError
from pyhudi.jobs.compaction import COMPACTION, LOG_COMPACTION
from pyhudi.jobs.result import JobResult

if TYPE_CHECKING:
    from pyhudi.table.table import Table
    from pyhudi.timeline.instant import Action

WRITE_ACTIONS = ("commit", "deltacommit", "replacecommit")


class PyhudiHook(BaseHook):
    """Open tables and look at their timelines; writes nothing.

    Without a connection the paths stand for themselves. With one, a relative path lies below the
    connection's host, and the connection's ``storage_options`` reach the storage.

    A connection that is missing or wrong, and an option that no storage has, raise a
    ``PyhudiRequestError``, which Airflow does not retry.

    :param pyhudi_conn_id: The connection; None does without.
    :param storage_options: Options of the storage; they win over the connection's. Secrets belong
        in the connection.
    """

    conn_name_attr = "pyhudi_conn_id"
    default_conn_name = "pyhudi_default"
    conn_type = "pyhudi"
    hook_name = "PyHudi"

    def __init__(
        self,
        pyhudi_conn_id: str | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pyhudi_conn_id = pyhudi_conn_id
        found = tables_connection(pyhudi_conn_id) if pyhudi_conn_id else TablesConnection()
        self._base, self._connection_options = found.base, dict(found.storage_options)
        self._given_options = storage_options_of(storage_options, "storage_options")

    @property
    def storage_options(self) -> dict[str, str]:
        """The options given to the storage."""
        return self._connection_options | self._given_options

    def table_uri(self, base_path: str) -> str:
        """The path or URI of a table.

        Raises:
            PyhudiRequestError: it has a password in it, or is relative to a connection that has
                no host.
        """
        if passwords_in(base_path):
            raise PyhudiRequestError(
                f"base_path has a password in it ({redacted(base_path)}), which logs and pages "
                "would show; give it in the Extra of a connection of type pyhudi"
            )
        if base_path.startswith(("/", "file:/")) or "://" in base_path or not self.pyhudi_conn_id:
            return base_path
        if not self._base:
            raise PyhudiRequestError(
                f"base_path is {base_path!r}, which is relative, and the connection "
                f"{self.pyhudi_conn_id!r} (pyhudi_conn_id) has no host; set its host to the folder "
                "the tables lie in"
            )
        return f"{self._base.rstrip('/')}/{base_path}"

    def get_conn(self) -> PyhudiHook:
        """The hook itself: a table is opened by path."""
        return self

    def open_table(self, base_path: str) -> Table:
        """The table at a path.

        Raises:
            TableNotFoundError: there is none.
        """
        from pyhudi.table.table import open_table

        return open_table(self.table_uri(base_path), self.storage_options)

    def find_instant(
        self,
        base_path: str,
        *,
        instant: str | datetime | None = None,
        after: str | date | None = None,
        actions: Sequence[str] = WRITE_ACTIONS,
    ) -> str | None:
        """The newest completed instant that fits; None when there is none, or no table.

        ``instant`` is one instant, by its digits or as a time with milliseconds; it also fits when
        it has left the active timeline. ``after`` may be any time that ``pyhudi.read_table`` takes,
        one without a zone being in that of the table's timeline.

        Raises:
            OptionError: an instant or an action that is none.
        """
        return self.look(base_path, instant=instant, after=after, actions=actions).found

    def look(
        self,
        base_path: str,
        *,
        instant: str | datetime | None = None,
        after: str | date | None = None,
        actions: Sequence[str] = WRITE_ACTIONS,
    ) -> Look:
        """What ``find_instant`` finds, and what it saw, in words for a log.

        Raises:
            OptionError: an instant or an action that is none.
        """
        wanted = _actions(actions)
        exact = parse_exact_instant(instant) if instant else None
        later = parse_instant(after) if after else None
        try:
            table = self.open_table(base_path)
        except TableNotFoundError:
            waiting = waiting_words(instant, after)
            return Look(
                found=None, seen=f"there is no table at {self.table_uri(base_path)} yet{waiting}"
            )
        zone = table.config.timezone
        return look_at(
            table.timeline,
            table.storage.uri,
            exact=exact.on(zone) if exact else None,
            after=later.on(zone) if later else None,
            actions=wanted,
        )

    def find_commit(
        self,
        base_path: str,
        idempotency_key: str | None,
        *,
        operation: str,
        since: str | date | None = None,
    ) -> JobResult | None:
        """The result of the commit that carries the key, as ``already_committed``; None for none.

        ``operation`` is what the caller asks for; it goes into the result. ``since`` is a time
        before the first try of the request: commits that have been archived since then are looked
        through too, and those of the last day unless it is given.

        Raises:
            OptionError: ``since`` is no time.
        """
        from pyhudi.table.committed import find_committed, look_back
        from pyhudi.table.result import job_result
        from pyhudi.timeline.clock import SystemClock

        if idempotency_key is None:
            return None
        try:
            table = self.open_table(base_path)
        except TableNotFoundError:
            return None
        begin = None if since is None else parse_instant(since)
        back = look_back(begin, SystemClock().now_ms(), table.config.timezone)
        earlier = find_committed(table, idempotency_key, since=back)
        if earlier is None:
            return None
        found = job_result(
            "already_committed",
            operation=operation,
            table=table.config.name,
            base_path=table.storage.uri,
            instant=earlier.instant,
            completion_time=earlier.completion_time,
            stats=earlier.stats,
            replaced=earlier.replaced,
            ignored=earlier.ignored,
        )
        return replace(found, schema_changes=earlier.schema_changes)

    def live_writers(self, base_path: str, options: Mapping[str, str] | None = None) -> list[str]:
        """The instants of the writers that are at work, oldest first; none where there is no table.

        ``options`` are those of a write, for how often its kind shows that it lives.
        """
        from pyhudi.config.option import read_settings
        from pyhudi.config.write import HeartbeatConfig
        from pyhudi.timeline.clock import SystemClock
        from pyhudi.transaction.heartbeat import is_alive

        try:
            table = self.open_table(base_path)
        except TableNotFoundError:
            return []
        config = read_settings(HeartbeatConfig, options or {})
        now_ms = SystemClock().now_ms()
        pending = [found.time for found in table.timeline.pending_writes()]
        return [
            time for time in pending if is_alive(table.storage, time, now_ms=now_ms, config=config)
        ]

    def pending_compactions(self, base_path: str, *, operation: str = COMPACTION) -> list[str]:
        """The instants of the compactions that are planned and not done, oldest first.

        For mapping an operator over them: ``expand(instant=hook.pending_compactions(path))``.
        ``operation`` is ``compact``, or ``log_compact`` for log compactions.

        Raises:
            TableNotFoundError: there is no table.
        """
        pending, action = self.open_table(base_path).timeline.pending(), _planned_action(operation)
        return [found.time for found in pending if found.action is action]

    def find_plan(
        self, base_path: str, idempotency_key: str | None, *, operation: str = COMPACTION
    ) -> JobResult | None:
        """The pending compaction whose plan carries the key, as ``scheduled``; None for none."""
        from pyhudi.table.pending import find_planned
        from pyhudi.table.result import job_result

        if idempotency_key is None:
            return None
        table = self.open_table(base_path)
        action = _planned_action(operation)
        instant = find_planned(table.active, table.timeline, idempotency_key, action)
        if instant is None:
            return None
        return job_result(
            "scheduled",
            operation=operation,
            table=table.config.name,
            base_path=table.storage.uri,
            instant=instant,
        )

    def test_connection(self) -> tuple[bool, str]:
        """Whether the base folder can be listed, and how many tables lie in it."""
        from pyhudi.storage.schemes import open_storage

        if not self._base:
            return False, "the connection has no host: set it to the folder the tables lie in"
        try:
            storage = open_storage(self._base, self.storage_options)
            if not storage.exists(""):
                return False, f"the folder {self._base} is not there"
            folders = [entry.name for entry in storage.list("") if entry.is_dir]
            tables = [name for name in folders if storage.exists(f"{name}/.hoodie")]
        except HudiError as error:
            return False, str(error)
        count = len(tables)
        return True, f"{self._base} can be read and has {count} table{'' if count == 1 else 's'}"


def _planned_action(operation: str) -> Action:
    from pyhudi.timeline.instant import Action

    return Action.LOG_COMPACTION if operation == LOG_COMPACTION else Action.COMPACTION


def _actions(names: Sequence[str]) -> set[Any]:
    from pyhudi.timeline.instant import Action

    known = {action.value: action for action in Action}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise OptionError(
            f"actions has {', '.join(unknown)}; a timeline has {', '.join(sorted(known))}"
        )
    return {known[name] for name in names}
