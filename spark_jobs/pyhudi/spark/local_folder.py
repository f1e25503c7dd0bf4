"""Where a worker may put what memory has no room for."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

from pyhudi.config.options.logs import MergeMemory

_FOLDERS: Final = "SPARK_LOCAL_DIRS"


def with_local_folder(memory: MergeMemory) -> MergeMemory:
    """The room that a merge has in a worker: in Spark's own folders where no other is named.

    Source: PythonRunner, Spark 3.5 and 4.2 (which names them to its workers);
    FileIOUtils.getDefaultSpillableMapBasePath, Hudi 0.15 and 1.1, chooses likewise.
    """
    folders = [each for each in os.environ.get(_FOLDERS, "").split(",") if each]
    if memory.folder is not None or not folders:
        return memory
    return replace(memory, folder=folders[os.getpid() % len(folders)])
