"""The process of delta-rs (`deltalake` on PyPI), which has neither Spark nor a JVM.

`run_delta_rs.py NAME WORKLOAD` takes steps and prints a JSON line for each. As one of several
writers it names the partitions of its rows in the condition of a merge, without which Delta takes
every two merges for a conflict, and makes a refused merge again itself, as there is no option.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError
from steps import CORES, Workload, fingerprint_of_batches, serve


class DeltaRs:
    """delta-rs in this process."""

    def __init__(self, _name: str, work: Workload) -> None:
        self._work = work

    def start(self, source: str) -> int:
        """Count a file's rows; there is no session to start."""
        pa.set_cpu_count(CORES)
        return pq.read_metadata(source).num_rows

    def write(self, operation: str, source: str) -> dict[str, Any]:
        """Create the table, or merge into it."""
        rows = pq.read_table(source)
        if operation == "bulk_insert":
            partition = [self._work.partition] if self._work.partition else None
            write_deltalake(self._work.table, rows, partition_by=partition)
            return {}
        refused = 0
        while True:
            try:
                self._merge(operation, rows)
            except CommitFailedError:  # noqa: PERF203 - the merge takes longer
                if refused >= self._work.retries:
                    raise
                refused += 1
            else:
                return {"conflicts": refused}

    def _merge(self, operation: str, rows: pa.Table) -> None:
        match, partition = self._work.match(), self._work.partition
        if self._work.writer and partition:
            named = ", ".join(
                f"'{value}'" for value in sorted(rows[partition].unique().to_pylist())
            )
            match = f"{match} AND t.{partition} IN ({named})"
        merger = DeltaTable(self._work.table).merge(rows, match, source_alias="s", target_alias="t")
        if operation == "delete":
            merger.when_matched_delete().execute()
        else:
            merger.when_matched_update_all().when_not_matched_insert_all().execute()

    def requests(self) -> dict[str, int]:
        """None is counted."""
        return {}

    def is_refused(self, error: Exception) -> bool:
        """Whether a write was refused because of others."""
        return isinstance(error, CommitFailedError)

    def read(self) -> tuple[int, str]:
        """Count and sum by Arrow over the files that delta-rs names."""
        column = self._files().to_table(columns=[self._work.value]).column(0)
        return len(column), str(pc.sum(column).as_py())

    def fingerprint(self) -> dict[str, int]:
        """The fingerprint, batch by batch."""
        batches = self._files().to_batches(columns=self._work.fingerprint_columns)
        return fingerprint_of_batches(self._work, batches)

    def stop(self) -> None:
        """Nothing was started."""

    def _files(self) -> ds.Dataset:
        return ds.dataset(DeltaTable(self._work.table).file_uris(), format="parquet")


if __name__ == "__main__":
    serve(DeltaRs)
