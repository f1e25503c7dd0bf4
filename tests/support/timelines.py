"""Timelines and writers of tables in memory, whether their properties are written or not."""

from __future__ import annotations

from pyhudi.config.table import TableConfig, TimelineZone
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import HeartbeatConfig
from pyhudi.services.recovery import writer_of
from pyhudi.storage.storage import Storage
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer


def active_of(storage: Storage, version: TableVersion = TableVersion.SIX) -> ActiveTimeline:
    """The timeline of a table in local time."""
    return ActiveTimeline(storage=storage, version=version, zone=TimelineZone.LOCAL)


def table_of(storage: Storage, config: TableConfig) -> Table:
    """A table as one sees it who has not looked at its timeline."""
    return Table(storage=storage, config=config, timeline=Timeline())


def writer_for(storage: Storage, config: TableConfig, clock: Clock, **heartbeat: int) -> Writer:
    """A writer whose time passes as the clock says."""
    return writer_of(table_of(storage, config), clock, HeartbeatConfig(**heartbeat))
