"""The process of delta-rs (`deltalake` on PyPI), which has neither Spark nor a JVM.

`run_delta_rs.py NAME WORKLOAD` takes steps and prints a JSON line for each.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake
from steps import CORES, Workload, fingerprint_of_batches, serve


class DeltaRs:
    """delta-rs in this process."""

    def __init__(self, _name: str, work: Workload) -> None:
        self._work = work

    def start(self, source: str) -> int:
        """Count a file's rows; there is no session to start."""
        pa.set_cpu_count(CORES)
        return pq.read_metadata(source).num_rows

    def write(self, operation: str, source: str) -> None:
        """Create the table, or merge into it."""
        rows = pq.read_table(source)
        if operation == "bulk_insert":
            partition = [self._work.partition] if self._work.partition else None
            write_deltalake(self._work.table, rows, partition_by=partition)
            return
        merger = DeltaTable(self._work.table).merge(
            rows, self._work.match(), source_alias="s", target_alias="t"
        )
        if operation == "delete":
            merger.when_matched_delete().execute()
        else:
            merger.when_matched_update_all().when_not_matched_insert_all().execute()

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
