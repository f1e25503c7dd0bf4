"""The file that makes a folder a partition."""

from __future__ import annotations

from pyhudi.config.properties import dump
from pyhudi.errors import MissingFileError
from pyhudi.filegroup.names import file_path
from pyhudi.storage.storage import Storage

METADATA_FILE = ".hoodie_partition_metadata"


def ensure_partition(storage: Storage, partition: str, instant: str) -> None:
    """Make the folder a partition of the table unless it is one already.

    Readers that list find partitions by this file; it tells how many folders lie between the
    partition and the table.

    Tasks come here, which may lack what it takes to create a file; of those that find none at once
    one is the last, and what readers take from the file is the same in all of them.

    It is read rather than looked at: what is not there may be a folder, for which a look at an
    object store asks once more.

    Guarantees: one that is found is not changed.
    Source: HoodiePartitionMetadata.trySave, Hudi 0.15.
    """
    depth = partition.count("/") + 1 if partition else 0
    text = dump({"commitTime": instant, "partitionDepth": str(depth)}, ("partition metadata",))
    path = file_path(partition, METADATA_FILE)
    try:
        storage.read(path)
    except MissingFileError:
        storage.put(path, text.encode("latin-1"))
