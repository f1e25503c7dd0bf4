"""The keys of a file come in groups, in file order."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.fileslice.stored_keys import stored_keys
from pyhudi.schema.metafields import RECORD_KEY
from tests.support.memory import MemoryStorage

# A reader gives 131,072 keys at a time.
KEYS = pa.array([f"{number:06d}" for number in range(300_000)])


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (1, [131_072, 131_072, 37_856]),
        (131_073, [262_144, 37_856]),
        (262_144, [262_144, 37_856]),
        (10**9, [300_000]),
    ],
)
def test_keys_come_in_groups_of_at_least_so_many(rows: int, sizes: list[int]) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({RECORD_KEY: KEYS}), sink, row_group_size=200_000)
    file = BaseFile.of("", "f-0_0-0-0_1.parquet", 1)
    assert file is not None
    storage = MemoryStorage({file.path: sink.getvalue().to_pybytes()})
    with open_base(storage, file) as base:
        found = list(stored_keys(base, None, rows=rows))
    assert [len(group) for group in found] == sizes
    assert pa.concat_arrays([chunk for group in found for chunk in group.chunks]).equals(KEYS)
