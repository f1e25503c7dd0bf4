"""Slices become base files: the rows, meta columns and statistics of Hudi's own compaction."""

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.basefile.footer import read_footer
from pyhudi.filegroup.names import parse_base_file_name, parse_log_file_name
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.compaction.job import compaction_job, compaction_merge
from pyhudi.services.compaction.run import compaction_run
from pyhudi.write.files import compact
from pyhudi.write.files.compact import compact_slice
from tests.support.golden import expected_rows, row_texts
from tests.support.golden_memory import (
    LOGGED,
    OPTIONS,
    clock_at,
    execute,
    files_at,
    golden_in_memory,
    plan,
    read_texts,
    values,
)
from tests.support.golden_memory import compact as compact_table
from tests.support.in_process import writer_on
from tests.support.log_files import rollback_block
from tests.support.memory import MemoryStorage

TASK = TaskIdentity(partition_id=0, stage_id=1, attempt_id=2)
# What two writers of the same rows may have different.
OWN = ("path", "totalWriteBytes", "fileSizeInBytes", "runtimeStats")


def before_compaction(name: str) -> tuple[MemoryStorage, str, MemoryStorage]:
    """A table as it was once Hudi had planned a compaction, its instant, and what became of it."""
    done = golden_in_memory(name)
    (planned,) = (path for path in done.files if path.endswith(".compaction.requested"))
    instant = planned.rpartition("/")[2].partition(".")[0]
    storage = done.copy()
    for path in list(storage.files):
        if not path.startswith(".hoodie/metadata") and _is_at_or_after(path, instant):
            storage.delete(path)
    storage.put(planned, done.files[planned])
    return storage, instant, done


def _is_at_or_after(path: str, instant: str) -> bool:
    name = path.rpartition("/")[2]
    base, log = parse_base_file_name(name), parse_log_file_name(name)
    if base is not None:
        return base.instant >= instant
    if log is not None:
        return log.base_instant >= instant
    time = name.partition(".")[0]
    return path.startswith(".hoodie/") and time.isdigit() and time >= instant


@pytest.mark.parametrize("batch_rows", [3, 131_072])
@pytest.mark.parametrize("name", ["v6_mor_compacted", "v6_mor_event_time", "v6_mor_commit_time"])
def test_a_plan_of_hudi_comes_to_what_hudi_made_of_it(name: str, batch_rows: int, monkeypatch):
    monkeypatch.setattr(compact, "BATCH_ROWS", batch_rows)
    storage, instant, done = before_compaction(name)
    execute(storage, clock_at(), instant)
    assert rows_at(storage, instant) == rows_at(done, instant)
    assert stats_at(storage, instant) == stats_at(done, instant)


def rows_at(storage: MemoryStorage, instant: str) -> list[str]:
    tables = [pq.read_table(pa.BufferReader(each)) for each in files_at(storage, instant).values()]
    return values(row_texts(pa.concat_tables(tables)))


def stats_at(storage: MemoryStorage, instant: str) -> list[dict[str, object]]:
    found = json.loads(storage.files[f".hoodie/{instant}.commit"])
    stats = [each for stats in found["partitionToWriteStats"].values() for each in stats]
    plain = [{key: value for key, value in each.items() if key not in OWN} for each in stats]
    return sorted(plain, key=lambda each: str(each["fileId"]))


@pytest.mark.parametrize("name", [*LOGGED, "v6_mor_basic"])
def test_a_compacted_table_has_the_rows_it_had_with_their_meta_columns(name: str) -> None:
    storage = golden_in_memory(name)
    found = compact_table(storage, clock_at()).instant or ""
    wanted, after = values(expected_rows(name)), read_texts(storage)
    assert values(after) == wanted
    assert values(read_texts(storage, query_type="read_optimized")) == wanted
    names = {json.loads(row)["_hoodie_file_name"] for row in after}
    assert names >= {path.rpartition("/")[2] for path in files_at(storage, found)}


def test_the_footer_has_the_keys_of_new_rows_too() -> None:
    storage, instant, _ = before_compaction("v6_mor_compacted")
    execute(storage, clock_at(), instant)
    for data in files_at(storage, instant).values():
        file = pq.ParquetFile(pa.BufferReader(data))
        keys = file.read(["_hoodie_record_key"]).column(0).to_pylist()
        footer = read_footer(file.metadata.metadata)
        bloom = footer.bloom_filter()
        assert bloom is not None
        assert all(bloom.contains(pa.array(keys)).to_pylist())
        assert (footer.min_key, footer.max_key) == (min(keys), max(keys))


def test_blocks_of_later_writes_do_not_count() -> None:
    """A block that was committed after the plan belongs to the slice on top."""
    storage, instant, _ = before_compaction("v6_mor_compacted")
    with compaction_run(writer_on(storage, clock_at()), instant) as work:
        merge = compaction_merge(work.table, instant, OPTIONS)
        job = compaction_job(work.table, instant, OPTIONS, merge)
        early = replace(merge, as_of=work.slices[0].base_instant)
        (stat,) = compact_slice(job, TASK, work.slices[0], early)
    assert (stat.total_log_records, stat.num_update_writes) == (0, 0)


def test_log_files_that_were_rolled_back_alone_make_no_file() -> None:
    storage, own = golden_in_memory("v6_mor_logs_avro"), clock_at()
    found = plan(storage, own)
    assert found
    with compaction_run(writer_on(storage, own), found) as work:
        merge = compaction_merge(work.table, found, OPTIONS)
        job = compaction_job(work.table, found, OPTIONS, merge)
        logs_alone = replace(work.slices[0], base_file=None)
        assert compact_slice(job, TASK, logs_alone, merge)
        for log in logs_alone.log_files:
            storage.put(log.path, rollback_block("9", "8"))
        unheld = tuple(replace(log, writes=()) for log in logs_alone.log_files)
        logs_alone = replace(logs_alone, log_files=unheld)
        assert not compact_slice(job, TASK, logs_alone, merge)
