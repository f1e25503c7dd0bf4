"""Files on HDFS as Arrow reads and writes them."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import CorruptTableError, InvariantError, StorageError
from pyhudi.storage.hdfs_files import HdfsReader, HdfsWriter, hdfs_file
from pyhudi.storage.objects.transfer.ranges import TAIL_BYTES


class Stored:
    """What hdfs-native gives to read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.asked: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self.data)

    def read_range(self, start: int, length: int) -> bytes:
        self.asked.append((start, length))
        return self.data[start : start + length]


def reader_of(data: bytes) -> HdfsReader:
    return HdfsReader(Stored(data), "/lake/f")


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"k": range(1000), "v": range(1000)}), out, row_group_size=100)
    return out.getvalue()


def test_a_file_is_read_from_any_place() -> None:
    with pa.PythonFile(reader_of(b"0123456789"), mode="r") as file:
        assert (file.size(), file.read(3), file.tell()) == (10, b"012", 3)
        file.seek(-2, io.SEEK_END)
        assert (file.read(), file.read(5)) == (b"89", b"")
        file.seek(1)
        file.seek(1, io.SEEK_CUR)
        assert file.read(1) == b"2"
        with pytest.raises(CorruptTableError):
            file.seek(-1)


def test_threads_of_arrow_are_turned_away_as_they_abort_a_process_at_its_end() -> None:
    rows = pq.ParquetFile(pa.PythonFile(reader_of(parquet()), mode="r"), pre_buffer=False)
    assert rows.read(use_threads=False).num_rows == 1000
    ahead = pq.ParquetFile(pa.PythonFile(reader_of(parquet()), mode="r"), pre_buffer=True)
    with pytest.raises(InvariantError, match="pre_buffer=False"):
        ahead.read(use_threads=False)


class Refusing:
    def write(self, data: bytes) -> int:
        raise RuntimeError('RPCError("NotReplicatedYetException", "no data nodes\\n\\tat x")')

    def close(self) -> None:
        raise RuntimeError('OperationFailed("Failed to complete file in time")')

    def read_range(self, start: int, length: int) -> bytes:
        raise RuntimeError("all data nodes failed")

    def __len__(self) -> int:
        return 5


def test_what_fails_in_a_file_names_it() -> None:
    with pytest.raises(StorageError, match=r"cannot write /lake/f: .*no data nodes$"):
        pa.PythonFile(HdfsWriter(Refusing(), "/lake/f"), mode="w").write(b"1")
    with pytest.raises(StorageError, match=r"cannot write /lake/f: .*in time"):
        pa.PythonFile(HdfsWriter(Refusing(), "/lake/f"), mode="w").close()
    with pytest.raises(StorageError, match=r"cannot read /lake/f: all data nodes"):
        HdfsReader(Refusing(), "/lake/f")


def test_what_a_reader_is_told_of_is_fetched_together_and_once() -> None:
    stored = Stored(bytes(10 << 20))
    file = hdfs_file(HdfsReader(stored, "/lake/f"))
    file.fetch_ahead([(0, 100), (500_000, 100), (6 << 20, 50)])
    for start, length in ((500_000, 100), (0, 100), (6 << 20, 50), ((10 << 20) - 5, 5)):
        file.seek(start)
        assert file.read(length) == bytes(length)
    assert sorted(stored.asked) == [
        (0, 500_100),
        (6 << 20, 50),
        ((10 << 20) - TAIL_BYTES, TAIL_BYTES),
    ]


def test_a_file_that_ends_before_its_length_is_an_error() -> None:
    stored = Stored(b"x" * (2 * TAIL_BYTES))
    reader = HdfsReader(stored, "/lake/f")
    stored.data = b"x"
    with pytest.raises(StorageError, match="/lake/f gave 1 of"):
        reader.read(100)
