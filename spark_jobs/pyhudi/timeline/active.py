"""The active timeline on storage: load it, and write the file of an instant's next state."""

from __future__ import annotations

from pyhudi.config.versions import TableVersion
from pyhudi.storage.storage import Storage
from pyhudi.timeline import layout
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


def remove(storage: Storage, version: TableVersion, instant: Instant) -> None:
    """Delete the file of an instant in its state; absent is fine."""
    storage.delete(layout.path(instant, version))
