"""Rows that a bootstrap writes lie as the sort mode of bulk inserts says."""

from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.pipeline.bootstrap.dataset import rows
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.table.table import open_table
from tests.support.datasets import FULL_RECORD, PARTS, bootstrap, file_bytes, lay_out, people

SORT = "hoodie.bulkinsert.sort.mode"


# The files of a partition in a table, each by its keys.
AS_THEY_CAME = [["6", "4", "2", "0"], ["7", "5", "3", "1"]]
LAID = {
    "NONE": AS_THEY_CAME,
    "PARTITION_SORT": [sorted(keys) for keys in AS_THEY_CAME],
    "GLOBAL_SORT": [list("01234567")],
}


@pytest.mark.parametrize("mode", LAID)
def test_files_have_the_keys_that_the_sort_mode_puts_there(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A task for each file of the source, where rows stay in theirs.
    monkeypatch.setattr(rows, "_TASK_BYTES", 1)
    monkeypatch.setattr(rows.DatasetRows, "in_large_tasks", lambda self, most_bytes: self)
    files = {
        f"part={part}/{name}.parquet": file_bytes(people(0, 8).take(taken))
        for part in PARTS
        for name, taken in (("a", [6, 4, 2, 0]), ("b", [7, 5, 3, 1]))
    }
    source = lay_out(tmp_path / "source", files)
    result = bootstrap(tmp_path / "table", source, {**FULL_RECORD, SORT: mode})
    assert result.records["inserted"] == 24
    found: dict[str, list[list[str]]] = defaultdict(list)
    for file in open_table(tmp_path / "table").latest_base_files():
        keys = pq.read_table(tmp_path / "table" / file.path, partitioning=None)[RECORD_KEY]
        found[file.partition].append([key.removeprefix("k000") for key in keys.to_pylist()])
    assert {part: sorted(keys) for part, keys in found.items()} == {
        f"part={part}": LAID[mode] for part in PARTS
    }
    assert pyhudi.read_table(tmp_path / "table").num_rows == 24
