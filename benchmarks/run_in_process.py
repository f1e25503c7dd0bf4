"""This engine without Spark, in a process of its own: `run_in_process.py NAME WORKLOAD`.

It takes steps and prints a JSON line for each, as one of several writers of a table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from locks import TimedLocks
from ours import is_refused, requests_made, told_of
from steps import CORES, Workload, fingerprint_of_batches, hudi_options, serve

import pyhudi
from pyhudi.pipeline.batch.source import parquet_rows
from pyhudi.pipeline.environment import environment_on
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner


class PyhudiInProcess:
    """The engine in this process."""

    def __init__(self, _name: str, work: Workload) -> None:
        self._work, self._runner, self._locks = work, InProcessRunner(), TimedLocks()

    def start(self, source: str) -> int:
        """Count a file's rows; there is no session to start."""
        pa.set_cpu_count(CORES)
        rows = parquet_rows(self._runner, [source])
        return 0 if rows is None else sum(footer.num_rows for footer in rows.footers)

    def write(self, operation: str, source: str) -> dict[str, Any]:
        """One operation, and what its result says."""
        options = {**hudi_options(self._work), "hoodie.datasource.write.operation": operation}
        environment = environment_on(self._runner, self._work.storage_options)
        environment = replace(environment, open_lock=self._locks.open)
        before = replace(self._locks.times)
        rows = parquet_rows(self._runner, [source])
        result = write_rows(environment, rows, self._work.table, options)
        return told_of(result, self._locks.times.since(before))

    def requests(self) -> dict[str, int]:
        """The requests to the table's store so far."""
        return requests_made(self._work.table)

    def is_refused(self, error: Exception) -> bool:
        """Whether a write was refused because of others."""
        return is_refused(error)

    def read(self) -> tuple[int, str]:
        """Count and sum of the rows."""
        column = pa.chunked_array([part.column(0) for part in self._batches([self._work.value])])
        return len(column), str(pc.sum(column).as_py())

    def fingerprint(self) -> dict[str, int]:
        """The fingerprint, batch by batch."""
        return fingerprint_of_batches(self._work, self._batches(self._work.fingerprint_columns))

    def stop(self) -> None:
        """Nothing was started."""

    def _batches(self, columns: list[str]) -> pa.RecordBatchReader:
        work = self._work
        return pyhudi.read_batches(
            work.table, columns=columns, storage_options=work.storage_options
        )


if __name__ == "__main__":
    serve(PyhudiInProcess)
