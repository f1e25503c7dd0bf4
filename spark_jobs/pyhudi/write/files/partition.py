"""The file that makes a folder a partition."""

from __future__ import annotations

import contextlib

from pyhudi.config.properties import dump
from pyhudi.errors import AlreadyExistsError
from pyhudi.filegroup.names import file_path
from pyhudi.storage.storage import Storage

METADATA_FILE = ".hoodie_partition_metadata"


def ensure_partition(storage: Storage, partition: str, instant: str) -> None:
    """Make the folder a partition of the table unless it is one already.

    Readers that list find partitions by this file; it tells how many folders lie between the
    partition and the table.

    Guarantees: made once, by whichever task comes first, and never changed.
    Source: HoodiePartitionMetadata.trySave, Hudi 0.15.
    """
    depth = partition.count("/") + 1 if partition else 0
    text = dump({"commitTime": instant, "partitionDepth": str(depth)}, ("partition metadata",))
    with contextlib.suppress(AlreadyExistsError):
        storage.create(file_path(partition, METADATA_FILE), text.encode("latin-1"))
