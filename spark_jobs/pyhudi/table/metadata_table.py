"""A table's metadata table: it is switched off before it would go stale."""

from __future__ import annotations

import logging

from pyhudi.config.table import TableConfig
from pyhudi.config.versions import TimelineLayout
from pyhudi.errors import ConflictError
from pyhudi.storage.storage import Storage
from pyhudi.table.properties_file import load_config, replace_properties
from pyhudi.timeline.active import ActiveTimeline
from pyhudi.timeline.instant import Action

_FOLDER = ".hoodie/metadata"
# Indexes that Hudi makes when it is told to, and does not build anew.
_MADE_BY_HAND = ("secondary_index_", "expr_index_", "func_index_")
_INDEX_DEFINITIONS = ".hoodie/.index_defs"

_log = logging.getLogger(__name__)


def disable(storage: Storage, config: TableConfig) -> TableConfig:
    """Take the metadata table from a table that has one, and give the changed configuration.

    A commit that the metadata table does not know is invisible to readers that trust it. They
    trust what the properties name, so those change first; the folder goes after.

    Raises:
        ConflictError: the table has another version by now.

    Guarantees: readers see the same rows before, between and after; Hudi's next writer builds
        the metadata table anew.
    Source: HoodieTableMetadataUtil.deleteMetadataTable, HoodieTableConfig.clearMetadataPartitions,
        Hudi 0.15.
    """
    if not config.metadata_partitions:
        return config
    _log.warning(
        "%s: the metadata table (%s) is switched off, because this writer does not keep it; "
        "Hudi's next write builds it anew",
        storage.uri,
        ", ".join(config.metadata_partitions),
    )
    by_hand = [name for name in config.metadata_partitions if name.startswith(_MADE_BY_HAND)]
    if by_hand:
        _log.warning(
            "%s: %s go with it; create these indexes again where they are needed",
            storage.uri,
            ", ".join(by_hand),
        )
    changed = config.without_metadata_table()
    if load_config(storage).version is not config.version:
        raise ConflictError(
            "the table was given another version meanwhile; retry", where=storage.uri
        )
    replace_properties(storage, changed.raw)
    if config.version.timeline_layout is TimelineLayout.TWO:
        # Hudi looks into what is defined there, whatever the properties name.
        storage.delete_dir(_INDEX_DEFINITIONS)
    storage.delete_dir(_FOLDER)
    return changed


def last_compaction(storage: Storage, config: TableConfig) -> str | None:
    """The last completed compaction of the metadata table; empty for none yet.

    None in a table without a metadata table. Log files of later writes in it count as long as the
    table's own timeline has these writes.

    Source: HoodieBackedTableMetadata.getLatestCompactionTime, Hudi 0.15 and 1.1.
    """
    if not config.metadata_partitions:
        return None
    own = ActiveTimeline(
        storage=storage, version=config.version, zone=config.timezone, below=f"{_FOLDER}/"
    )
    done = [each.time for each in own.load().completed() if each.action is Action.COMMIT]
    return done[-1] if done else ""
