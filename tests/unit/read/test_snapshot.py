"""Reading a table: what is given, what is not even opened, and what is refused."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.errors import CorruptTableError, MissingFileError, RequestError, TableNotFoundError
from pyhudi.schema.metafields import META_FIELDS
from pyhudi.storage.schemes import open_storage
from tests.support.base_files import spoil
from tests.support.bootstrapped import Source, bootstrap
from tests.support.golden import golden_copy, golden_table, row_texts

ID, PART = pc.field("id"), pc.field("part")


def base_files(table: Path) -> list[Path]:
    """All base files of a table, its metadata table's aside."""
    return [path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts]


# What is given


def test_the_meta_columns_come_first_then_the_table_in_schema_order() -> None:
    table = pyhudi.read_table(golden_table("v6_cow_basic"))
    own = ["id", "part", "ts", "name", "qty", "price", "flag", "note"]
    assert table.column_names == [*META_FIELDS, *own]


def test_columns_come_in_the_order_they_are_asked_for() -> None:
    table = pyhudi.read_table(golden_table("v6_cow_basic"), columns=["price", "id"])
    assert (table.column_names, table.num_rows) == (["price", "id"], 34)


def test_filtered_rows_need_not_show_the_filtered_column() -> None:
    path = golden_table("v6_cow_basic")
    found = pyhudi.read_table(path, columns=["id"], filters=(PART == "north") & (ID > "k0010"))
    rows = pyhudi.read_table(path)
    expected = rows.filter((PART == "north") & (ID > "k0010")).select(["id"])
    assert row_texts(found) == row_texts(expected)
    assert 0 < found.num_rows < rows.num_rows


def test_a_filter_no_row_meets_gives_no_rows_and_all_columns() -> None:
    table = pyhudi.read_table(golden_table("v6_cow_basic"), filters=ID == "nobody")
    assert (table.num_rows, len(table.column_names)) == (0, 13)


def test_batches_hold_the_rows_of_the_table() -> None:
    path = golden_table("v6_cow_many_groups")
    rows = pyhudi.read_batches(path, columns=["id", "price"]).read_all()
    assert row_texts(rows) == row_texts(pyhudi.read_table(path, columns=["id", "price"]))


def test_memory_is_bounded_by_batches_whatever_the_file(tmp_path: Path) -> None:
    path = golden_copy("v6_cow_default_bloom", tmp_path)
    (file,) = base_files(path)
    rows = pq.read_table(file, partitioning=None)
    pq.write_table(pa.concat_tables([rows] * 30_000), file, row_group_size=1 << 30)
    before, most, count = pa.total_allocated_bytes(), 0, 0
    for batch in pyhudi.read_batches(path):
        most = max(most, pa.total_allocated_bytes() - before)
        count += batch.num_rows
    assert count == 30_000 * rows.num_rows
    assert most < rows.nbytes * 30_000 / 3


def test_a_table_never_written_has_no_rows_and_the_columns_it_was_created_with() -> None:
    table = pyhudi.read_table(golden_table("v6_cow_empty"))
    assert table.num_rows == 0
    assert table.column_names[5:] == ["id", "name", "price", "qty", "note", "ts", "part"]


def test_time_travel_gives_the_columns_of_that_time() -> None:
    path = golden_table("v6_cow_evolution")
    then = pyhudi.read_table(path, as_of="20261121105213543").schema
    now = pyhudi.read_table(path).schema
    assert (then.field("qty").type, now.field("qty").type) == (pa.int32(), pa.int64())
    assert ("extra" in then.names, "extra" in now.names) == (False, True)


def test_files_of_an_older_schema_are_read_in_the_tables(tmp_path: Path) -> None:
    path = golden_copy("v6_cow_evolution", tmp_path)
    for file in base_files(path / "south"):
        if not file.stem.endswith("_20261121105213543"):
            file.unlink()
    table = pyhudi.read_table(path, filters=PART == "south", skip_damaged=True)
    then = pyhudi.read_table(path, as_of="20261121105213543", filters=PART == "south")
    assert table.schema == pyhudi.read_table(golden_table("v6_cow_evolution")).schema
    assert table["qty"].cast(pa.int32()).equals(then["qty"])
    assert table["extra"].null_count == table.num_rows == then.num_rows
    info = table["info"].combine_chunks()
    assert info.field("a").equals(then["info"].combine_chunks().field("a"))
    assert info.field("b").null_count == table.num_rows


def test_partition_columns_that_are_in_no_file_come_from_the_path() -> None:
    table = pyhudi.read_table(golden_table("v6_cow_drop_partition_columns"))
    from_path = pc.binary_join_element_wise("part=", table["part"], "")
    assert from_path.equals(table["_hoodie_partition_path"])


def test_meta_columns_are_null_where_a_table_keeps_none() -> None:
    table = pyhudi.read_table(golden_table("v6_cow_no_meta_fields"))
    assert [table[name].null_count for name in META_FIELDS] == [34] * 5


def test_null_meta_columns_can_be_filtered_by() -> None:
    path = golden_table("v6_cow_no_meta_fields")
    for name in META_FIELDS:
        assert pyhudi.read_table(path, filters=pc.field(name).is_null()).num_rows == 34
        assert pyhudi.read_table(path, filters=pc.field(name).is_valid()).num_rows == 0


def test_an_incremental_query_can_be_filtered_and_projected() -> None:
    path = golden_table("v6_cow_basic")
    begin = "20261121110956545"
    query = {"query_type": "incremental", "begin": begin}
    changed = pyhudi.read_table(path, **query, columns=["id"], filters=PART == "north")
    rows = pyhudi.read_table(path)
    expected = rows.filter((pc.field("_hoodie_commit_time") > begin) & (PART == "north"))
    assert row_texts(changed) == row_texts(expected.select(["id"]))


# What is not read


def test_columns_not_asked_for_are_not_read(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    for file in base_files(table):
        spoil(file, "note")
    assert pyhudi.read_table(table, columns=["id", "price"], filters=ID > "k").num_rows == 34
    with pytest.raises(pyhudi.HudiError):
        pyhudi.read_table(table, columns=["note"])


def test_files_of_partitions_a_filter_rules_out_are_not_opened(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    for file in base_files(table / "south"):
        file.write_bytes(b"not opened".ljust(file.stat().st_size))
    assert pyhudi.read_table(table, filters=PART == "north").num_rows > 0
    with pytest.raises(CorruptTableError, match=r"south/.*is no Parquet file"):
        pyhudi.read_table(table)


def test_old_versions_of_files_are_not_opened(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    newest = {name.as_py() for name in pc.unique(pyhudi.read_table(table)["_hoodie_file_name"])}
    for file in base_files(table):
        if file.name not in newest:
            file.write_bytes(b"not opened")
    assert pyhudi.read_table(table).num_rows == 34


def test_files_older_than_an_incremental_range_are_not_opened(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    begin = "20261121111003365"
    for file in base_files(table):
        if file.stem.rsplit("_", 1)[1] <= begin:
            file.write_bytes(b"not opened")
    pyhudi.read_table(table, query_type="incremental", begin=begin)


def test_row_groups_a_filter_rules_out_are_not_read(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_default_bloom", tmp_path)
    (file,) = base_files(table)
    rows = pq.read_table(file, partitioning=None).sort_by("id")
    pq.write_table(rows, file, row_group_size=4)
    spoil(file, row_group=2)
    assert pyhudi.read_table(table, filters=ID.isin(rows["id"][:8])).num_rows == 8
    with pytest.raises(pyhudi.HudiError):
        pyhudi.read_table(table)


# What is refused


def test_a_path_without_a_table_says_how_to_make_one(tmp_path: Path) -> None:
    words = f"no Hudi table at {tmp_path}.*write to it to make"
    with pytest.raises(TableNotFoundError, match=words):
        pyhudi.read_table(tmp_path)


@pytest.mark.parametrize("cores", [1, 2, 3, 5, 16])
def test_each_row_is_read_once_by_however_many_threads(
    cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [Source(partition=f"p{n}", rows=rows_from(n * 10, 10)) for n in range(7)]
    bootstrap(open_storage(str(tmp_path / "table")), tmp_path / "source", people)
    monkeypatch.setattr(pa, "cpu_count", lambda: cores)
    monkeypatch.setattr("pyhudi.read.snapshot._SHARED_BYTES", 0)
    rows = pyhudi.read_table(tmp_path / "table", columns=["_hoodie_record_key", "id"])
    assert rows["id"].to_pylist() == [f"k{n:03d}" for n in range(70)]
    assert rows["_hoodie_record_key"].to_pylist() == rows["id"].to_pylist()


def rows_from(first: int, count: int) -> pa.Table:
    return pa.table({"id": [f"k{n:03d}" for n in range(first, first + count)]})


def test_a_path_that_is_a_file_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(RequestError, match="it is a file"):
        pyhudi.read_table(path)


def test_a_file_that_goes_while_the_table_is_read_asks_for_a_retry(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    batches = pyhudi.read_batches(table)
    for file in base_files(table):
        file.unlink()
    with pytest.raises(MissingFileError, match=r"is gone: was it cleaned") as raised:
        batches.read_all()
    assert raised.value.retryable
