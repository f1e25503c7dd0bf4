"""Switch a table's metadata table off before it would go stale."""

from __future__ import annotations

import logging

from pyhudi.config.table import TableConfig
from pyhudi.storage.storage import Storage
from pyhudi.table.properties_file import replace_properties

_FOLDER = ".hoodie/metadata"

_log = logging.getLogger(__name__)


def disable(storage: Storage, config: TableConfig) -> TableConfig:
    """Take the metadata table from a table that has one, and give the changed configuration.

    A commit that the metadata table does not know is invisible to readers that trust it. They
    trust what the properties name, so those change first; the folder goes after.

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
    changed = config.without_metadata_table()
    replace_properties(storage, changed.raw)
    storage.delete_dir(_FOLDER)
    return changed
