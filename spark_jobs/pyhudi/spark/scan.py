"""Tell a DataFrame that is nothing but a scan of Parquet files."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
# What says where the files are; any other option may change what Spark reads from them.
_PLACES = frozenset({"path", "paths"})


def scanned_files(frame: DataFrame) -> list[str] | None:
    """The local Parquet files that a DataFrame consists of; None when it is anything else.

    Whatever would make its rows differ from those of the files, a filter, a computed column, folder
    partitions, an option of the reader, a file elsewhere, makes it something else.

    Source: LogicalRelation and HadoopFsRelation, Spark 3.5 and 4.2.
    """
    java = getattr(frame, "_jdf", None)
    if java is None:
        return None
    try:
        if not _is_plain_scan(java.queryExecution().analyzed()):
            return None
        places = [urlsplit(str(file)) for file in java.inputFiles()]
    except Py4JError:
        # A release of Spark whose plans look otherwise: its DataFrames are read as such.
        return None
    if not places or any(place.scheme != "file" or place.netloc for place in places):
        return None
    return [unquote(place.path) for place in places]


def _is_plain_scan(plan: Any) -> bool:
    if plan.getClass().getName() != _RELATION or plan.isStreaming():
        return False
    relation = plan.relation()
    if relation.getClass().getName() != _FILES:
        return False
    is_parquet = relation.fileFormat().getClass().getName() == _PARQUET
    is_flat = relation.partitionSchema().length() == 0 and relation.bucketSpec().isEmpty()
    keys = relation.options().keysIterator()
    named = set()
    while keys.hasNext():
        named.add(str(keys.next()).lower())
    return bool(is_parquet and is_flat and named <= _PLACES)
