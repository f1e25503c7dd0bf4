"""One way to read a slice: the same rows for a query, a lookup and a compaction."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.config.options.logs import DEFAULT_MEMORY
from pyhudi.config.read import ReadConfig
from pyhudi.config.write import WriteConfig
from pyhudi.filegroup.slices import FileSlice
from pyhudi.fileslice.logs import LogCounts
from pyhudi.fileslice.reader import open_slice, slice_rows
from pyhudi.read.query import plan_read
from pyhudi.read.rows import read_slice
from pyhudi.runner.task import TaskIdentity
from pyhudi.services.compaction.job import compaction_job
from pyhudi.table.slice_reading import slice_logs, slice_reading
from pyhudi.table.table import Table, open_table
from pyhudi.write.files.compact import compact_slice
from tests.support.log_files import avro_block, delete_block
from tests.support.mor_table import SCHEMA, MorTable, moment, records

MERGED = ["a:2", "b:1", "d:1", "x:2"]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A file group of four rows; its log changes one, deletes one and has a new one."""
    made = MorTable.make(tmp_path / "t")
    made.base("f", "1", records("1", ("a", 5, "1"), ("b", 5, "1"), ("c", 5, "1"), ("d", 5, "1")))
    changed = records("2", ("a", 6, "2"), ("b", 4, "2"), ("x", 1, "2"))
    made.log("f", "1", avro_block(moment("2"), changed, SCHEMA), delete_block(moment("3"), "c"))
    for time in "123":
        made.instant(time)
    return open_table(made.path)


def lines(rows: pa.Table) -> list[str]:
    return sorted(f"{row['id']}:{row['name']}" for row in rows.to_pylist())


def ways_to_read(table: Table, found: FileSlice) -> dict[str, list[str]]:
    """The rows of a slice for a query, a lookup of stored rows, and a compaction."""
    storage, schema = table.storage, table.schema()
    assert found.base_file is not None
    queried = read_slice(storage, plan_read(table, ReadConfig.of()), found)
    logs = slice_logs(table, [found], DEFAULT_MEMORY)
    looked_up = logs.rows(storage, found.base_file, ["id", "name"])
    assert looked_up is not None
    reading = slice_reading(table, schema)
    context = compaction_job(table, moment("4"), WriteConfig(), reading)
    task = TaskIdentity(partition_id=0, stage_id=1, attempt_id=2)
    (stat,) = compact_slice(context, task, found, reading)
    return {
        "query": lines(pa.concat_tables(queried)),
        "lookup": lines(pa.concat_tables(looked_up)),
        "compaction": lines(pq.read_table(storage.absolute(stat.path or ""))),
    }


def test_queries_lookups_and_compactions_read_the_same_rows(table: Table) -> None:
    (found,) = table.latest_slices()
    assert ways_to_read(table, found) == dict.fromkeys(("query", "lookup", "compaction"), MERGED)


def test_a_slice_whose_base_file_lies_in_another_folder_is_read_by_the_same_path(
    table: Table, tmp_path: Path
) -> None:
    (found,) = table.latest_slices()
    assert found.base_file is not None
    source = tmp_path / "source" / "part-0.parquet"
    source.parent.mkdir()
    Path(table.storage.absolute(found.base_file.path)).rename(source)
    outside = replace(found, base_file=replace(found.base_file, location=str(source)))
    assert ways_to_read(table, outside) == dict.fromkeys(("query", "lookup", "compaction"), MERGED)


def test_dictionaries_of_stored_texts_are_kept_where_they_are_asked_for(table: Table) -> None:
    repeating = records("1", *((f"k{number}", 5, "1") for number in range(300)))
    MorTable(Path(table.storage.uri)).base("f", "1", repeating, group_rows=300)
    (found,) = table.latest_slices()
    reading, schema = slice_reading(table, table.schema()), table.schema()
    counts = LogCounts()
    with open_slice(table.storage, found, reading, schema, counts) as opened:
        (untouched, *_) = opened.parts(keep_dictionaries=True)
        (plain, *_) = opened.parts()
    assert pa.types.is_dictionary(untouched.rows.schema.field("name").type)
    assert plain.rows.schema.field("name").type == pa.string()
    assert (counts.blocks, counts.rows, counts.instants) == (2, 3, (moment("2"), moment("3")))


def test_stored_rows_come_in_batches_of_the_size_asked_for(table: Table) -> None:
    (found,) = table.latest_slices()
    reading, schema = slice_reading(table, table.schema()), table.schema()
    unlogged = replace(found, log_files=())
    batches = slice_rows(table.storage, unlogged, reading, schema, batch_rows=3)
    sizes = [rows.num_rows for rows in batches]
    assert max(sizes) <= 3
    assert sum(sizes) == 4
