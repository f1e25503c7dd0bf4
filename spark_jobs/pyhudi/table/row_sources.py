"""Which files the skeletons of a bootstrapped table have their rows in."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from pyhudi.config.table import TableConfig
from pyhudi.filegroup.slices import BaseFile, RowSource
from pyhudi.fileslice.sources import place_of_source
from pyhudi.keys.generators import paths_hold_values
from pyhudi.storage.storage import Storage
from pyhudi.table.bootstrap_index import read_bootstrap_index

_log = logging.getLogger(__name__)


def with_sources(
    storage: Storage, config: TableConfig, files: Iterable[BaseFile]
) -> tuple[BaseFile, ...]:
    """The same files, of which skeletons know their source.

    One that the table's index does not name has none, which an error says once its rows are read.
    Tables without skeletons cost no request.

    Raises:
        CorruptTableError: the index is damaged.
        UnsupportedError: it is in a form that is not read.
    """
    found = tuple(files)
    partitions = {file.partition for file in found if file.is_skeleton}
    index = read_bootstrap_index(storage, partitions) if partitions else None
    if index is None:
        return found
    tells = paths_hold_values(config.key_generator_class)
    path_fields = config.partition_fields if tells else ()

    def with_source(file: BaseFile) -> BaseFile:
        if not file.is_skeleton:
            return file
        known = index.source_of(file.partition, file.file_id)
        if known is None:
            return file
        source = RowSource(
            uri=known.path,
            size_bytes=known.size_bytes,
            modified_ms=known.modified_ms,
            path_fields=tuple(path_fields),
        )
        return replace(file, source=source)

    return tuple(with_source(file) for file in found)


def with_sources_there(storage: Storage, files: Iterable[BaseFile]) -> tuple[BaseFile, ...]:
    """The files but for skeletons whose source is gone or of another size, which is said."""
    return tuple(file for file in files if not _has_lost_rows(storage, file))


def _has_lost_rows(storage: Storage, file: BaseFile) -> bool:
    if file.source is None:
        return file.is_skeleton
    place, name = place_of_source(storage, file.source.uri)
    found = place.status(name)
    if found is not None and found.size_bytes == file.source.size_bytes:
        return False
    _log.warning(
        "%s: %s is passed over, whose rows lie in %s: that is %s",
        *(storage.uri, file.path, file.source.uri),
        "gone" if found is None else "another file",
    )
    return True
