"""Files of rows that go into new files as they come."""

from pathlib import Path

import pyhudi
from tests.support.orders import OPTIONS, orders, write
from tests.support.tree import data_files


def test_a_file_that_is_full_is_followed_by_another(tmp_path: Path) -> None:
    small = {
        **OPTIONS,
        "hoodie.table.base.file.format": "ORC",
        "hoodie.orc.max.file.size": "1000",
        "hoodie.orc.compression.codec": "zstd",
    }
    rows = orders(*((f"k{n:06d}", "p", 1, f"{n * 7919 % 104_729}") for n in range(150_000)))
    result = write(tmp_path / "table", rows, "bulk_insert", small)
    assert len(data_files(tmp_path / "table", f"_{result.instant}")) > 1
    assert pyhudi.read_table(tmp_path / "table").num_rows == 150_000
