"""Timelines and writers of tables in memory, whether their properties are written or not."""

from contextlib import suppress

from pyhudi.config.table import TableConfig, TimelineZone
from pyhudi.config.versions import TableVersion
from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import TableNotFoundError
from pyhudi.services.recovery import writer_of
from pyhudi.storage.storage import Storage
from pyhudi.table.properties_file import load_config
from pyhudi.table.table import Table
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.clock import Clock
from pyhudi.timeline.timeline import Timeline
from pyhudi.transaction.exclusion import Writer


def active_of(storage: Storage, version: TableVersion | None = None) -> ActiveTimeline:
    """The timeline of a table in local time, by default in the version that it says it has."""
    version = version or _version_of(storage)
    return ActiveTimeline(storage=storage, version=version, zone=TimelineZone.LOCAL)


def _version_of(storage: Storage) -> TableVersion:
    with suppress(TableNotFoundError):
        return load_config(storage).version
    return TableVersion.SIX


def table_of(storage: Storage, config: TableConfig) -> Table:
    """A table as one sees it who has not looked at its timeline."""
    return Table(storage=storage, config=config, timeline=Timeline())


def writer_for(storage: Storage, config: TableConfig, clock: Clock, **heartbeat: int) -> Writer:
    """A writer whose time passes as the clock says."""
    return writer_of(table_of(storage, config), clock, HeartbeatConfig(**heartbeat))
