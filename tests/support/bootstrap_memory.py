"""A source file of many batches taken over; a process of its own tells Arrow's peak.

python -m tests.support.bootstrap_memory <folder> <options as JSON>
"""

import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.pipeline.bootstrap.dataset import rows
from pyhudi.pipeline.bootstrap.dataset.source import OpenSource
from pyhudi.pipeline.files import bulk
from tests.support.datasets import bootstrap

BATCH = 4_096
TEXT = "a text that is as long as those of a table with some columns more may be, " * 4
SMALL_ROW_GROUPS = {"hoodie.parquet.block.size": str(1 << 20)}


def make_source(folder: Path, batches: int) -> int:
    """One file of so many row groups; the bytes that Arrow holds when all rows are in memory."""
    numbers = range(batches * BATCH)
    found = pa.table(
        {
            "id": pa.array([f"a key of some length {number:09}" for number in numbers]),
            "ts": pa.array(numbers),
            "text": pa.array([f"{number}{TEXT}" for number in numbers]),
        }
    )
    folder.mkdir(parents=True)
    pq.write_table(found, folder / "a.parquet", row_group_size=BATCH, use_dictionary=False)
    return int(found.nbytes)


def peak(folder: Path, options: dict[str, str]) -> int:
    """Arrow's highest memory while the source below a folder becomes a table beside it."""
    OpenSource.tables.__kwdefaults__["batch_rows"] = BATCH
    rows._BATCH_ROWS = bulk._BATCH_ROWS = BATCH
    result = bootstrap(folder / "table", folder / "source", {**options, **SMALL_ROW_GROUPS})
    if result.status != "committed":
        raise AssertionError(f"nothing was taken over: {result}")
    return pa.default_memory_pool().max_memory()


if __name__ == "__main__":
    print(peak(Path(sys.argv[1]), json.loads(sys.argv[2])))
