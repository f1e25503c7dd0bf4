"""A connection to where tables lie, and read-only questions about their timelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

from airflow_provider_pyhudi.access.renewal import keys_file
from airflow_provider_pyhudi.access.storage import StorageAccess, storage_access
from airflow_provider_pyhudi.connections import (
    TablesConnection,
    storage_options_of,
    tables_connection,
)
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.hooks.check import check_base
from airflow_provider_pyhudi.watch.instants import WRITE_ACTIONS, InstantQuestion
from airflow_provider_pyhudi.watch.table import Look, TableWatch
from pyhudi.config.access.secret import passwords_in, redacted
from pyhudi.config.access.storage_options import CREDENTIALS_FILE
from pyhudi.config.instant_text import parse_instant
from pyhudi.errors import TableNotFoundError
from pyhudi.jobs.compaction import COMPACTION, LOG_COMPACTION
from pyhudi.jobs.result import JobResult

if TYPE_CHECKING:
    from pyhudi.filegroup.slices import FileSlice
    from pyhudi.table.table import Table
    from pyhudi.timeline.instant import Action
    from pyhudi.timeline.timeline import Timeline


class PyhudiHook(BaseHook):
    """Open tables and look at their timelines; writes nothing.

    Without a connection the paths stand for themselves. With one, a relative path lies below the
    connection's host, and the connection's ``storage_options`` reach the storage.

    A connection that is missing or wrong, and an option that no storage has, raise a
    ``PyhudiRequestError``, which Airflow does not retry.

    :param pyhudi_conn_id: The connection; None does without.
    :param storage_options: Options of the storage; they win over the connections'. Secrets belong
        in a connection.
    :param storage_conn_id: Connection of a cloud, whose keys win over those of the connection of
        type ``pyhudi``; the one that this names unless it is given.
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
        storage_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pyhudi_conn_id = pyhudi_conn_id
        found = tables_connection(pyhudi_conn_id) if pyhudi_conn_id else TablesConnection()
        cloud = storage_conn_id or found.storage_conn_id
        self._access = storage_access(cloud) if cloud else StorageAccess()
        self._base, self._connection_options = found.base, dict(found.storage_options)
        self._given_options = storage_options_of(storage_options, "storage_options")

    @property
    def storage_options(self) -> dict[str, str]:
        """The options given to the storage, with keys that end as they are at this time."""
        return self._connection_options | self._access.options_now() | self._given_options

    @contextmanager
    def options_of_a_job(self, folder: str, *, is_here: bool) -> Iterator[dict[str, str]]:
        """The options for a job that may outlive keys which end.

        A driver that ``is_here``, on this machine, reads such keys from a private file in the
        folder, which is written again while the context lasts, and is gone with it.
        """
        keys = self._access.keys
        if keys is None or not is_here:
            if keys is not None:
                self.log.warning(
                    "The driver runs elsewhere and gets the keys of this moment, which nobody "
                    "renews there; they hold until %s. A role of the cluster's own machines ends "
                    "not",
                    keys().ends,
                )
            yield self.storage_options
            return
        with keys_file(keys, folder) as path:
            options = self._connection_options | dict(self._access.options)
            yield options | {CREDENTIALS_FILE: path} | self._given_options

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

    def get_table(self, base_path: str) -> Table:
        """The table at a path.

        Raises:
            TableNotFoundError: there is none.
        """
        from pyhudi.table.table import open_table

        return open_table(self.table_uri(base_path), self.storage_options)

    def timeline(self, base_path: str) -> Timeline:
        """The instants of a table: what happened to it, and what is pending.

        Raises:
            TableNotFoundError: there is none.
        """
        return self.get_table(base_path).timeline

    def file_slices(
        self,
        base_path: str,
        partitions: Sequence[str] | None = None,
        *,
        as_of: str | date | None = None,
    ) -> tuple[FileSlice, ...]:
        """The base files that hold the rows of a table with their log files, now or as of a time.

        Raises:
            TableNotFoundError: there is none.
            CorruptTableError: a file is gone or cut short that a commit says was there.
        """
        return self.get_table(base_path).latest_slices(partitions, as_of)

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
        found = self.look(base_path, instant=instant, after=after, actions=actions).found
        return None if found is None else str(found)

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
        given = {"instant": instant, "after": after, "actions": actions}
        return self.watch(base_path).one_look(InstantQuestion.of(given))

    def watch(self, base_path: str) -> TableWatch:
        """Looks at the table of a path, one after the other; it need not be there yet."""
        return TableWatch(lambda: self.get_table(base_path), self.table_uri(base_path))

    def find_commit(
        self,
        base_path: str,
        idempotency_key: str | None,
        *,
        operation: str,
        since: str | date | None = None,
        is_slot: bool = False,
    ) -> JobResult | None:
        """The result of the commit that carries the key, as ``already_committed``; None for none.

        With ``is_slot`` it is the key of a slot, and the commit the newest that has filled it.

        ``operation`` is what the caller asks for; it goes into the result. ``since`` is a time
        before the first try of the request: commits that have been archived since then are looked
        through too, and those of the last day unless it is given.

        Raises:
            OptionError: ``since`` is no time.
        """
        from pyhudi.table.committed import find_committed, find_of_slot, look_back
        from pyhudi.table.result import job_result
        from pyhudi.timeline.clock import SystemClock

        if idempotency_key is None:
            return None
        try:
            table = self.get_table(base_path)
        except TableNotFoundError:
            return None
        begin = None if since is None else parse_instant(since)
        back = look_back(begin, SystemClock().now_ms(), table.config.timezone)
        if is_slot:
            earlier = next(iter(find_of_slot(table, idempotency_key, since=back)), None)
        else:
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
            table = self.get_table(base_path)
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
        pending, action = self.get_table(base_path).timeline.pending(), _planned_action(operation)
        return [found.time for found in pending if found.action is action]

    def find_plan(
        self, base_path: str, idempotency_key: str | None, *, operation: str = COMPACTION
    ) -> JobResult | None:
        """The pending compaction whose plan carries the key, as ``scheduled``; None for none."""
        from pyhudi.table.pending import find_planned
        from pyhudi.table.result import job_result

        if idempotency_key is None:
            return None
        table = self.get_table(base_path)
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
        """Whether the tables in the base folder can be read and written, or what is wrong."""
        return check_base(self._base, self.storage_options)


def _planned_action(operation: str) -> Action:
    from pyhudi.timeline.instant import Action

    return Action.LOG_COMPACTION if operation == LOG_COMPACTION else Action.COMPACTION
