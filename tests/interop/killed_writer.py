"""A writer that dies at the commit point: every file is there but the completed instant.

    python -m tests.interop.killed_writer TABLE SOURCE OPTIONS_AS_JSON

The process ends without a single clean-up step, as one that ran out of memory would.
"""

import json
import os
import sys

import pyhudi.spark
from pyhudi.storage.arrowfs import ArrowStorage
from tests.support.spark import shared_session

KILLED = 137


def die_when_completing(storage: ArrowStorage, path: str, data: bytes) -> None:
    """Stands in for `create`: ends the process where the completed instant would appear."""
    if path.endswith(".commit"):
        os._exit(KILLED)
    create(storage, path, data)


create = ArrowStorage.create

if __name__ == "__main__":
    table, source, options = sys.argv[1:]
    rows = shared_session().read.parquet(source)
    ArrowStorage.create = die_when_completing
    pyhudi.spark.write(rows, table, options=json.loads(options), mode="append")
