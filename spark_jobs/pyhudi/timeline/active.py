"""The active timeline on storage: load it, and write the file of an instant's next state."""

from __future__ import annotations

from pyhudi.config.table import TimelineZone
from pyhudi.config.versions import TableVersion
from pyhudi.storage.storage import Storage
from pyhudi.timeline import layout
from pyhudi.timeline.clock import instant_time
from pyhudi.timeline.instant import Instant
from pyhudi.timeline.timeline import Timeline


def load(storage: Storage, version: TableVersion) -> Timeline:
    """The active timeline as it is now; opens no file."""
    found = (
        layout.parse_file_name(status.name, version)
        for status in storage.list(layout.folder(version))
        if not status.is_dir
    )
    return Timeline.of(instant for instant in found if instant is not None)


def write_state(storage: Storage, version: TableVersion, instant: Instant, data: bytes) -> None:
    """Write the file of an instant in its state; those of earlier states stay beside it.

    Guarantees: the file appears whole or not at all; of several writers one succeeds.

    Raises:
        AlreadyExistsError: the instant has reached this state already.
    Source: HoodieActiveTimeline, Hudi 0.15 (layout 1: states are files of their own).
    """
    storage.create(layout.path(instant, version), data)


def read_state(storage: Storage, version: TableVersion, instant: Instant) -> bytes:
    """What the file of an instant in its state says.

    Raises:
        MissingFileError: the instant never had this state, or was rolled back or archived.
    """
    return storage.read(layout.path(instant, version))


def completion_time(
    storage: Storage, version: TableVersion, zone: TimelineZone, instant: Instant
) -> str | None:
    """When an instant was completed, as an instant time; None when it is not.

    Source: HoodieInstant, Hudi 0.15: in layout 1 the completed file's modification time tells
    ("state transition time"), in layout 2 its name.
    """
    if instant.completion_time is not None:
        return instant.completion_time
    status = storage.status(layout.path(instant, version))
    return None if status is None else instant_time(status.modified_ms, zone)


def remove(storage: Storage, version: TableVersion, instant: Instant) -> None:
    """Delete the file of an instant in its state; absent is fine."""
    storage.delete(layout.path(instant, version))
