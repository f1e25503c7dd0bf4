"""New file groups: how many files, how large, and what is in them."""

from itertools import count

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.config.options.files import ParquetCodec
from pyhudi.errors import StorageError
from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.context import WriteContext
from pyhudi.write.files import create, handle
from pyhudi.write.files.create import FileGroupWriter, PartitionedWriter, create_files
from tests.support.faulty import Fault, Faults, FaultyStorage
from tests.support.memory import MemoryStorage
from tests.support.tasks import create_file, incoming, job_on, stored, task

INSTANT = "20260102030405678"


def numbered(numbers: range) -> pa.Table:
    return incoming({f"k{n:05d}": (n, f"value {n}") for n in numbers})


def keys_in(storage: MemoryStorage, path: str | None) -> list[str]:
    keys: list[str] = stored(storage, path)[RECORD_KEY].to_pylist()
    return keys


def partitioned(job: WriteContext) -> PartitionedWriter:
    prefixes = count()
    return PartitionedWriter(job, task(), new_file_id_prefix=lambda: f"f{next(prefixes)}")


def parquet_files(storage: MemoryStorage) -> list[str]:
    return sorted(path for path in storage.files if path.endswith(".parquet"))


def test_a_file_that_has_reached_its_size_is_followed_by_the_next(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(create, "SLICE_ROWS", 500)
    storage = MemoryStorage()
    encoding = ParquetWriteOptions(row_group_rows=1000)
    job = job_on(storage, INSTANT, max_file_size_bytes=40_000, encoding=encoding)
    rows = numbered(range(30_000))
    stats = list(create_files(job, task(), partition="p", file_id="f-0", rows=rows))
    assert len(stats) > 2
    assert [stat.file_id for stat in stats] == [f"f-{number}" for number in range(len(stats))]
    keys = [key for stat in stats for key in keys_in(storage, stat.path)]
    assert keys == [f"k{n:05d}" for n in range(30_000)]
    assert all(35_000 < size < 60_000 for size in [stat.file_size_bytes for stat in stats][:-1])
    assert sum(stat.num_inserts for stat in stats) == 30_000
    assert parquet_files(storage) == sorted(stat.path or "" for stat in stats)


def test_rows_that_fit_are_one_file_with_its_marker_and_partition():
    storage = MemoryStorage()
    job, rows = job_on(storage, INSTANT), numbered(range(5))
    (stat,) = create_files(job, task(3, 9), partition="a=1/b", file_id="f-0", rows=rows)
    assert stat.path == f"a=1/b/f-0_3-1-9_{INSTANT}.parquet"
    assert (stat.prev_commit, stat.num_writes, stat.num_inserts) == ("null", 5, 5)
    assert f".hoodie/.temp/{INSTANT}/{stat.path}.marker.CREATE" in storage.files
    text = storage.files["a=1/b/.hoodie_partition_metadata"].decode()
    assert f"commitTime={INSTANT}" in text
    assert "partitionDepth=2" in text


def test_a_table_without_partitions_has_its_files_at_its_root():
    storage = MemoryStorage()
    job, rows = job_on(storage, INSTANT), numbered(range(1))
    (stat,) = create_files(job, task(), partition="", file_id="f-0", rows=rows)
    assert stat.path == f"f-0_0-1-0_{INSTANT}.parquet"
    assert "partitionDepth=0" in storage.files[".hoodie_partition_metadata"].decode()


def test_a_batch_of_deletes_alone_makes_no_file():
    storage = MemoryStorage()
    rows = numbered(range(3)).append_column("_hoodie_is_deleted", pa.array([True] * 3))
    job = job_on(storage, INSTANT)
    assert list(create_files(job, task(), partition="p", file_id="f-0", rows=rows)) == []
    assert storage.files == {}


def test_more_partitions_than_may_be_open_still_get_their_rows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(create, "MOST_OPEN", 3)
    storage = MemoryStorage()
    with partitioned(job_on(storage, INSTANT)) as writer:
        for turn in range(2):
            for partition in range(7):
                writer.write(f"p{partition}", numbered(range(turn * 10, turn * 10 + 2)))
                assert len(writer._open) <= 3
    by_partition: dict[str, list[str]] = {}
    for stat in writer.stats:
        by_partition.setdefault(stat.partition_path or "", []).extend(keys_in(storage, stat.path))
    expected = ["k00000", "k00001", "k00010", "k00011"]
    assert by_partition == {f"p{number}": expected for number in range(7)}
    assert len({stat.file_id for stat in writer.stats}) == len(writer.stats) == 14
    assert parquet_files(storage) == sorted(stat.path or "" for stat in writer.stats)


def test_open_files_together_hold_no_more_filters_than_they_may(monkeypatch: pytest.MonkeyPatch):
    job = job_on(MemoryStorage(), INSTANT)
    assert job.bloom is not None
    monkeypatch.setattr(create, "MOST_FILTER_BYTES", 2 * job.bloom.vector_size)
    with partitioned(job) as writer:
        for partition in "abcd":
            writer.write(partition, numbered(range(2)))
            assert len(writer._open) <= 2
    assert len(writer.stats) == 4


def test_open_files_together_hold_no_more_rows_than_they_may(monkeypatch: pytest.MonkeyPatch):
    limit = numbered(range(100)).nbytes * 3
    monkeypatch.setattr(create, "MOST_HELD_BYTES", limit)
    storage = MemoryStorage()
    with partitioned(job_on(storage, INSTANT)) as writer:
        for turn in range(6):
            for partition in range(4):
                writer.write(f"p{partition}", numbered(range(turn * 100, turn * 100 + 100)))
                assert sum(each.held_bytes for each in writer._open.values()) <= limit
    assert [stat.num_writes for stat in writer.stats] == [600] * 4
    for stat in writer.stats:
        assert keys_in(storage, stat.path) == [f"k{n:05d}" for n in range(600)]


def test_a_file_takes_the_time_that_is_its_own(monkeypatch: pytest.MonkeyPatch):
    """Opening, each write and closing take a second here; files that are open meanwhile wait."""
    seconds = count()
    monkeypatch.setattr(handle.time, "perf_counter", lambda: next(seconds))
    job = job_on(MemoryStorage(), INSTANT)
    with partitioned(job) as writer:
        for partition in "abba":
            writer.write(partition, numbered(range(2)))
        writer.write("a", numbered(range(2, 4)))
    taken = {stat.partition_path: stat.total_create_time for stat in writer.stats}
    assert taken == {"a": 5000, "b": 4000}


def test_stored_rows_take_their_time_too(monkeypatch: pytest.MonkeyPatch):
    """A compaction writes them into files of groups that had none."""
    storage, seconds = MemoryStorage(), count()
    job = job_on(storage, INSTANT)
    rows = stored(storage, create_file(job, numbered(range(3))).path)
    monkeypatch.setattr(handle.time, "perf_counter", lambda: next(seconds))
    later = {"partition": "p", "file_id": "f-1", "previous": None}
    with handle.BaseFileHandle(job, task(), **later) as file:
        file.write_stored(rows, has_stored_keys=False)
    assert file.stat.total_create_time == 3000


def test_rows_sorted_by_partition_are_one_file_each(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(create, "MOST_OPEN", 1)
    storage = MemoryStorage()
    with partitioned(job_on(storage, INSTANT)) as writer:
        for partition in "aabbcc":
            writer.write(partition, numbered(range(2)))
    assert [stat.num_writes for stat in writer.stats] == [4, 4, 4]


def test_an_error_closes_and_deletes_every_open_file():
    storage = MemoryStorage()

    def fail() -> None:
        with partitioned(job_on(storage, INSTANT)) as writer:
            for partition in "abc":
                writer.write(partition, numbered(range(2)))
            raise StorageError("the reason")

    with pytest.raises(StorageError, match="the reason"):
        fail()
    assert parquet_files(storage) == []
    assert len(storage.below(".hoodie/.temp")) == 3, "markers stay until the write has ended"


def test_a_disk_that_is_full_at_any_write_is_said_so():
    whole = Faults()
    job = job_on(FaultyStorage(MemoryStorage(), whole), INSTANT)
    create_file(job, numbered(range(9)))
    for at in range(1, whole.calls + 1):
        inner = MemoryStorage()
        job = job_on(FaultyStorage(inner, Faults(Fault.FULL_DISK, at)), INSTANT)
        with pytest.raises((StorageError, OSError), match="No space left on device"):
            create_file(job, numbered(range(9)))


@pytest.mark.parametrize("codec", list(ParquetCodec), ids=lambda codec: codec.value)
def test_every_codec_writes_what_it_says(codec: ParquetCodec):
    storage = MemoryStorage()
    job = job_on(storage, INSTANT, encoding=ParquetWriteOptions(codec=codec.value))
    stat = create_file(job, numbered(range(50)))
    metadata = pq.read_metadata(pa.BufferReader(storage.files[stat.path or ""]))
    told = metadata.row_group(0).column(0).compression
    assert told == {"none": "UNCOMPRESSED", "lz4_raw": "LZ4"}.get(codec.value, codec.name)
    assert len(keys_in(storage, stat.path)) == 50


def test_a_writer_left_without_a_row_has_no_file():
    storage = MemoryStorage()
    job = job_on(storage, INSTANT)
    with FileGroupWriter(job, task(), partition="p", file_id_prefix="f") as writer:
        writer.write(numbered(range(0)))
    assert (writer.stats, storage.files) == ([], {})
