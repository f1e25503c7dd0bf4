"""The process of a dataset as it is: `run_plain_files.py NAME WORKLOAD` reads it with pyarrow.

What a table made of the dataset costs a reader is held against this.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from steps import CORES, Workload, columns_of, files_of, fingerprint_of_batches, serve


class PlainFiles:
    """Files in folders, of which nobody knows more than their names say."""

    def __init__(self, _name: str, work: Workload) -> None:
        self._work = work
        self._source = ""

    def start(self, source: str) -> int:
        """Count the rows; there is no session to start."""
        pa.set_cpu_count(CORES)
        self._source = source
        return self._files().count_rows()

    def write(self, _operation: str, source: str) -> dict[str, object]:
        """Nothing: the files are the table."""
        self._source = source
        return {}

    def requests(self) -> dict[str, int]:
        """None is counted."""
        return {}

    def is_refused(self, _error: Exception) -> bool:
        """Nobody refuses a read."""
        return False

    def read(self) -> tuple[int, str]:
        """Count and sum of one column, as a table in memory."""
        column = self._files().to_table(columns=[self._work.value]).column(0)
        return len(column), str(pc.sum(column).as_py())

    def scan(self, source: str) -> int:
        """The rows with all columns of the files, batch by batch."""
        batches = self._files().to_batches(columns=columns_of(source))
        return sum(batch.num_rows for batch in batches)

    def whole(self) -> int:
        """The rows with all columns and those that the folders name, as a table in memory."""
        return self._files().to_table().num_rows

    def fingerprint(self) -> dict[str, int]:
        """The fingerprint, batch by batch."""
        batches = self._files().to_batches(columns=self._work.fingerprint_columns)
        return fingerprint_of_batches(self._work, batches)

    def stop(self) -> None:
        """Nothing was started."""

    def _files(self) -> ds.Dataset:
        return ds.dataset(files_of(self._source), partitioning="hive")


if __name__ == "__main__":
    serve(PlainFiles)
