"""Apache Hudi tables in Python: the public names, on one page.

* ``open_table(path)`` gives a ``Table``: its configuration, schema, timeline and files.
* ``read_table(path)`` gives its rows as a ``pyarrow.Table``, ``read_batches(path)`` as batches.
* ``JobResult`` is what a write did: what ``pyhudi.spark.write`` returns and a job prints.
* every error is a ``HudiError`` and says whether a retry can help.
* ``pyhudi.spark`` has ``write`` and ``read`` for Spark data frames.

Names are looked up when they are first used, so importing this loads neither pyarrow nor pyspark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhudi.errors import (
        AlreadyExistsError,
        BootstrapSourceError,
        ConflictError,
        CorruptTableError,
        HudiError,
        InvariantError,
        LateSourceError,
        LockError,
        LostLockError,
        MissingFileError,
        MissingSourceError,
        OptionError,
        PlatformError,
        PreconditionError,
        RecordKeyError,
        RequestError,
        RolledBackError,
        SchemaError,
        SetupError,
        SourceError,
        StorageError,
        TableChangedError,
        TableMismatchError,
        TableNotFoundError,
        UnclearAnswerError,
        UnsupportedError,
        WriteConflictError,
        WriterAtWorkError,
    )
    from pyhudi.jobs.result import JobResult
    from pyhudi.read.snapshot import read_batches, read_table
    from pyhudi.table.table import Table, open_table

__all__ = [
    "AlreadyExistsError",
    "BootstrapSourceError",
    "ConflictError",
    "CorruptTableError",
    "HudiError",
    "InvariantError",
    "JobResult",
    "LateSourceError",
    "LockError",
    "LostLockError",
    "MissingFileError",
    "MissingSourceError",
    "OptionError",
    "PlatformError",
    "PreconditionError",
    "RecordKeyError",
    "RequestError",
    "RolledBackError",
    "SchemaError",
    "SetupError",
    "SourceError",
    "StorageError",
    "Table",
    "TableChangedError",
    "TableMismatchError",
    "TableNotFoundError",
    "UnclearAnswerError",
    "UnsupportedError",
    "WriteConflictError",
    "WriterAtWorkError",
    "open_table",
    "read_batches",
    "read_table",
]

_HOMES = {
    "JobResult": "pyhudi.jobs.result",
    "Table": "pyhudi.table.table",
    "open_table": "pyhudi.table.table",
    "read_batches": "pyhudi.read.snapshot",
    "read_table": "pyhudi.read.snapshot",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES.get(name, "pyhudi.errors")), name)


def __dir__() -> list[str]:
    return __all__
