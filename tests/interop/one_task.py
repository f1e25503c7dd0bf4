"""A write into a table of one file group in this process: all that a job does, but no Spark."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from tests.support.local_rows import LocalRows


def upsert(table: Path, rows: pa.Table, options: Mapping[str, str]) -> str:
    """Upsert rows into a table without partitions; answer the instant."""
    chosen = {**options, "hoodie.datasource.write.operation": "upsert"}
    runner = InProcessRunner()
    source = LocalRows.of(runner, rows)
    result = write_rows(environment_on(runner), source, str(table), chosen)
    assert result.instant is not None
    return result.instant
