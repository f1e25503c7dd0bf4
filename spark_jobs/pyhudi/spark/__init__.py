"""The engine on a Spark cluster, and the only package that imports pyspark.

``write``, ``bootstrap``, ``read``, ``compact``, ``clean``, ``archive``, ``rollback``, ``savepoint``
and ``restore`` are its public functions. Rules of the format live below, in packages that know no
Spark; what is here spreads their work over tasks. The functions are resolved when they are first
used, so that a Python worker loads only the modules its task needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhudi.spark.reading import read
    from pyhudi.spark.services.archive import archive
    from pyhudi.spark.services.bootstrap import bootstrap
    from pyhudi.spark.services.clean import clean
    from pyhudi.spark.services.compaction import compact
    from pyhudi.spark.services.undo import restore, rollback, savepoint
    from pyhudi.spark.writing import write

__all__ = [
    "archive",
    "bootstrap",
    "clean",
    "compact",
    "read",
    "restore",
    "rollback",
    "savepoint",
    "write",
]

_HOMES = {
    "archive": "pyhudi.spark.services.archive",
    "bootstrap": "pyhudi.spark.services.bootstrap",
    "clean": "pyhudi.spark.services.clean",
    "compact": "pyhudi.spark.services.compaction",
    "read": "pyhudi.spark.reading",
    "restore": "pyhudi.spark.services.undo",
    "rollback": "pyhudi.spark.services.undo",
    "savepoint": "pyhudi.spark.services.undo",
    "write": "pyhudi.spark.writing",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
