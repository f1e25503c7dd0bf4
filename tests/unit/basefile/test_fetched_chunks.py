"""Which bytes of a Parquet file are fetched for some columns of some row groups."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.basefile import parquet
from pyhudi.basefile.parquet import ParquetReader, chunks_together

ROWS = pa.table(
    {
        "a": pa.array([f"key {n:05d}" for n in range(3_000)]),
        "b.c": pa.array(range(3_000)),
        "b": pa.array([{"c": n, "d": [n]} for n in range(3_000)]),
    }
)


class Recorded(pa.PythonFile):
    """A file that knows what was fetched ahead, and what was read beside that."""


def opened():
    held = io.BytesIO()
    pq.write_table(ROWS, held, row_group_size=1_000)
    data, fetched, read = held.getvalue(), [], []

    class Source(io.BytesIO):
        def read(self, count=-1):
            read.append((self.tell(), count))
            return super().read(count)

    file = Recorded(Source(data), mode="r")
    file.fetch_ahead = lambda ranges: fetched.append(list(ranges))
    return file, fetched, read


@pytest.mark.parametrize("columns", [["a"], ["b"], ["b.c"], ["b", "a"], ["a", "b.c", "b"]])
@pytest.mark.parametrize("groups", [None, [0], [2, 1]])
def test_what_is_read_of_a_file_was_fetched_before(columns, groups):
    file, fetched, read = opened()
    reader = ParquetReader(file)
    read.clear()
    rows = pa.concat_tables(reader.iter_tables(columns, groups))
    wanted = [ROWS.slice(1_000 * g, 1_000) for g in (range(3) if groups is None else groups)]
    assert rows.equals(pa.concat_tables(wanted).select(columns))
    ranges = [each for some in fetched for each in some]
    assert len(fetched) == 1
    assert read
    assert set(read) <= set(ranges)
    assert len(ranges) == len(set(ranges))


def test_no_other_column_is_fetched():
    file, fetched, read = opened()
    reader = ParquetReader(file)
    read.clear()
    list(reader.iter_tables(["a"]))
    assert sorted(read) == sorted(fetched[0])


def test_large_row_groups_are_fetched_one_after_another(monkeypatch):
    monkeypatch.setattr(parquet, "_FETCHED_BYTES", 1)
    file, fetched, _ = opened()
    assert pa.concat_tables(ParquetReader(file).iter_tables(["a"])).equals(ROWS.select(["a"]))
    assert [len(some) for some in fetched] == [1, 1, 1]


def test_a_file_without_row_groups_is_read_to_no_rows():
    held = io.BytesIO()
    pq.write_table(ROWS.slice(0, 0), held)
    metadata = pq.read_metadata(io.BytesIO(held.getvalue()))
    assert list(chunks_together(metadata, ["a"], [])) == [([], [])]
