"""Changing the version of a table, from what is asked for to what was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pyhudi.config.known import check_known
from pyhudi.config.options.compaction import Strategy, Trigger
from pyhudi.config.table import TableType
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import WriteConfig
from pyhudi.errors import OptionError, UnsupportedError
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.pipeline.compaction import compaction_service
from pyhudi.pipeline.environment import Environment
from pyhudi.services.compaction.kinds import compaction_kind
from pyhudi.services.recovery import recover, writer_of
from pyhudi.services.version_change import (
    VersionChange,
    change_version,
    plan_change,
    sweep_other_layout,
)
from pyhudi.storage.storage import Storage
from pyhudi.table.table import Table, load_table
from pyhudi.transaction.exclusion import Writer
from pyhudi.transaction.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedVersion:
    """What became of a request: the version before and after, and which properties changed.

    ``properties`` has None for those that are gone.
    """

    before: TableVersion
    after: TableVersion
    properties: Mapping[str, str | None]
    is_done: bool


def planned_change(table: Table, to: TableVersion, *, is_upgrade: bool) -> VersionChange | None:
    """What a table's version would change, None where it has that version.

    Raises:
        OptionError: an upgrade to an older version, or a downgrade to a newer one.
        UnsupportedError: a table whose version is not changed here.
    """
    now = table.config.version
    if now is to:
        return None
    if (to > now) is not is_upgrade:
        word, other = ("upgraded", "downgrade") if is_upgrade else ("downgraded", "upgrade")
        raise OptionError(
            f"the table has version {now.value} and cannot be {word} to {to.value}; use pyhudi "
            f"{other}"
        )
    return plan_change(table, to)


def told(change: VersionChange, *, is_done: bool) -> ChangedVersion:
    """What a change says of the properties."""
    before, after = change.before.raw, change.after.raw
    return ChangedVersion(
        before=change.before.version,
        after=change.after.version,
        properties={
            key: after.get(key)
            for key in sorted({*before, *after})
            if before.get(key) != after.get(key)
        },
        is_done=is_done,
    )


def change_table_version(
    environment: Environment,
    base_path: str,
    to: TableVersion,
    options: Mapping[str, str],
    *,
    is_upgrade: bool,
) -> ChangedVersion:
    """Give a table another version; where it has that one, what a try that died has left goes.

    A merge-on-read table is compacted whole before.

    Raises:
        RequestError: the request is wrong, or the table's version is not changed here.
        ConflictError: writers were at work for too long.
        PlatformError: the storage failed; the next try goes on from there.
    """
    check_known(options)
    config = WriteConfig.from_options(options)
    storage = environment.open_storage(base_path)
    turn = Turn(config.concurrency.wait)
    gate = environment.gate(storage, config)

    def writer() -> Writer:
        return writer_of(
            load_table(storage),
            environment.clock,
            config.heartbeat,
            turn,
            gate=gate,
            concurrency=config.concurrency,
        )

    def attempt() -> ChangedVersion:
        change = planned_change(load_table(storage), to, is_upgrade=is_upgrade)
        if change is not None and change.before.table_type is TableType.MERGE_ON_READ:
            _compact(environment, storage, config, turn)
            # A compaction switches the metadata table off, and others may have changed the version.
            change = planned_change(load_table(storage), to, is_upgrade=is_upgrade)
        if change is None:
            _sweep(writer())
            return ChangedVersion(before=to, after=to, properties={}, is_done=False)
        change_version(writer(), change)
        return told(change, is_done=True)

    return turn.take(writer, attempt)


def _compact(environment: Environment, storage: Storage, config: WriteConfig, turn: Turn) -> None:
    """Run what is planned, then make base files of all log files.

    Source: UpgradeDowngradeUtils.rollbackFailedWritesAndCompact, Hudi 1.1.
    """
    every = replace(
        config.compaction,
        strategies=(Strategy.UNBOUNDED,),
        trigger=Trigger.NUM_COMMITS,
        max_delta_commits=0,
    )
    chosen = replace(config, compaction=every)
    services = (
        compaction_service(environment, compaction_kind(name), storage, chosen, {})
        for name in (LOG_COMPACTION_KIND, COMPACTION_KIND)
    )
    logs, whole = (replace(each, turn=turn) for each in services)
    for service in (logs, whole):
        while pending := service.oldest_pending():
            service.execute(pending)
    whole.schedule_and_execute()


def _sweep(writer: Writer) -> None:
    """Delete what a change of this table that died after its commit point has left."""
    table = writer.table
    other = TableVersion.EIGHT if table.config.version is TableVersion.SIX else TableVersion.SIX
    try:
        plan_change(table, other)
    except UnsupportedError:
        return  # such a table was not changed here
    sweep_other_layout(table.storage, table.config)
    recover(writer)
