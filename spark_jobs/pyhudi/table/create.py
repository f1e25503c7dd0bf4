"""Make a new table: its .hoodie folder and properties."""

from __future__ import annotations

from pyhudi.config.table import TableConfig
from pyhudi.storage.storage import Storage
from pyhudi.table.properties_file import create_properties

_FOLDERS = (
    ".hoodie/.aux/.bootstrap/.partitions",
    ".hoodie/.aux/.bootstrap/.fileids",
    ".hoodie/.schema",
    ".hoodie/.temp",
    ".hoodie/archived",
)


def create_table(storage: Storage, config: TableConfig) -> TableConfig:
    """Lay down an empty table and give its configuration as it will be read.

    Guarantees: the properties come last, and with them the table; of several creators one
        succeeds.

    Raises:
        AlreadyExistsError: another table is there.
        UnsupportedError: a table version that cannot be written.
    Source: HoodieTableMetaClient.initTableAndGetMetaClient, Hudi 0.15 (folders).
    """
    made = TableConfig.from_properties(config.to_properties(), where=storage.uri)
    for folder in _FOLDERS:
        storage.make_dir(folder)
    create_properties(storage, made)
    return made
