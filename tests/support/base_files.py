"""Rows of base files with their meta columns."""

import pyarrow as pa

from pyhudi.basefile.bloom import BloomParameters

DATA = pa.schema([("id", pa.string()), ("n", pa.int64())])
SMALL_BLOOM = BloomParameters(num_entries=50, max_entries=100)


def rows_from(start: int, stop: int) -> pa.Table:
    """Rows numbered from ``start``, as a write of one file has them."""
    count = stop - start
    return pa.table(
        {
            "_hoodie_commit_time": pa.array(["20260102030405678"] * count).dictionary_encode(),
            "_hoodie_commit_seqno": [f"20260102030405678_0_{i}" for i in range(start, stop)],
            "_hoodie_record_key": [f"k{i}" for i in range(start, stop)],
            "_hoodie_partition_path": ["north"] * count,
            "_hoodie_file_name": pa.array(["f.parquet"] * count).dictionary_encode(),
            "id": [f"k{i}" for i in range(start, stop)],
            "n": range(start, stop),
        }
    )
