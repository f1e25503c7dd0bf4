from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.basefile.parquet import ParquetReader, ParquetWriteOptions
from pyhudi.errors import CorruptTableError
from pyhudi.schema.metafields import FILE_NAME, META_FIELDS, RECORD_KEY
from tests.support.base_files import DATA, rows_from, written
from tests.support.golden import golden_names, golden_table


def _written(
    tables: Sequence[pa.Table | pa.RecordBatch], schema: pa.Schema = DATA, **options: object
) -> pa.Buffer:
    return written(tables, ParquetWriteOptions(**options), schema)


def test_rows_come_back_in_order_whatever_the_row_groups():
    content = _written([rows_from(0, 70), rows_from(70, 71), rows_from(71, 200)], row_group_rows=64)
    reader = ParquetReader(content)
    assert reader.row_groups == 4
    found = pa.concat_tables(reader.iter_tables(batch_rows=50))
    assert found.to_pydict() == rows_from(0, 200).to_pydict()
    assert [table.num_rows for table in reader.iter_tables(["n"], [3])] == [8]


def test_row_group_ends_at_its_bytes_too():
    content = _written([rows_from(0, 10), rows_from(10, 20)], row_group_bytes=1)
    assert ParquetReader(content).row_groups == 2


def test_each_row_group_keeps_its_dictionary():
    first, second = rows_from(0, 10), rows_from(10, 20)
    second = second.set_column(4, FILE_NAME, pa.array(["g.parquet"] * 10).dictionary_encode())
    content = _written([first, second])
    column = pq.read_metadata(pa.BufferReader(content)).row_group(0).column(4)
    assert column.has_dictionary_page
    assert column.encodings.count("PLAIN") == 1
    found = pa.concat_tables(ParquetReader(content).iter_tables([FILE_NAME]))
    assert found.column(0).to_pylist() == ["f.parquet"] * 10 + ["g.parquet"] * 10


def test_no_arrow_schema_is_left_in_the_footer():
    metadata = pq.read_metadata(pa.BufferReader(_written([rows_from(0, 3)]))).metadata
    assert b"ARROW:schema" not in metadata


def test_parquet_types_are_those_hudi_writes():
    schema = pa.schema(
        [
            ("dec", pa.decimal128(9, 2)),
            ("ts", pa.timestamp("us", "UTC")),
            ("ntz", pa.timestamp("us")),
            ("day", pa.date32()),
            ("list", pa.list_(pa.int32())),
            ("map", pa.map_(pa.string(), pa.int64())),
        ]
    )
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901)  # noqa: DTZ001
    values = {
        "dec": [Decimal("1.25")],
        "ts": [moment.replace(tzinfo=timezone.utc)],
        "ntz": [moment],
        "day": [date(2026, 1, 2)],
        "list": [[1, None]],
        "map": [[("a", 1)]],
    }
    meta = rows_from(0, 1).select(META_FIELDS)
    columns = [pa.array(values[field.name], field.type) for field in schema]
    table = pa.table([*meta.columns, *columns], names=[*META_FIELDS, *schema.names])
    found = pq.ParquetFile(pa.BufferReader(_written([table], schema)))
    leaves = [found.schema.column(i) for i in range(5, len(found.schema.names))]
    assert [(leaf.path, leaf.physical_type) for leaf in leaves] == [
        ("dec", "FIXED_LEN_BYTE_ARRAY"),
        ("ts", "INT64"),
        ("ntz", "INT64"),
        ("day", "INT32"),
        ("list.list.element", "INT32"),
        ("map.key_value.key", "BYTE_ARRAY"),
        ("map.key_value.value", "INT64"),
    ]
    assert leaves[0].length == 4
    assert "isAdjustedToUTC=true" in str(leaves[1].logical_type)
    assert "isAdjustedToUTC=false" in str(leaves[2].logical_type)
    assert found.read().select(schema.names).to_pydict() == table.select(schema.names).to_pydict()


def test_columns_come_in_the_order_asked_for_and_unknown_ones_are_left_out():
    (table,) = ParquetReader(_written([rows_from(0, 3)])).iter_tables(["n", "no_such", "id"])
    assert table.schema.names == ["n", "id"]


def test_kept_dictionaries_spare_the_keys():
    count = 3_000
    rows = rows_from(0, count)
    content = _written([rows.set_column(5, "id", pa.array(["same"] * count))])
    reader = ParquetReader(content)
    (table,) = reader.iter_tables(keep_dictionaries=True)
    encoded = {field.name for field in table.schema if pa.types.is_dictionary(field.type)}
    assert encoded == {"_hoodie_commit_time", "_hoodie_partition_path", FILE_NAME, "id"}
    assert not any(pa.types.is_dictionary(field.type) for field in reader.schema)
    assert pa.concat_tables(reader.iter_tables()).schema.equals(reader.schema)


@pytest.mark.parametrize("name", golden_names("v6_cow_types"))
def test_files_of_hudi_are_read_in_small_batches(name):
    for path in sorted(golden_table(name).glob("*/*.parquet")):
        expected = pq.ParquetFile(path).read()
        with pa.OSFile(str(path)) as source:
            reader = ParquetReader(source)
            for keep in (False, True):
                tables = reader.iter_tables(batch_rows=3, keep_dictionaries=keep)
                found = [row for table in tables for row in table.to_pylist()]
                assert found == expected.to_pylist()
            keys = pa.concat_tables(reader.iter_tables([RECORD_KEY]))
            assert keys.to_pylist() == expected.select([RECORD_KEY]).to_pylist()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all, this"])
def test_what_is_no_parquet_file_is_corrupt(content):
    with pytest.raises(CorruptTableError, match="no Parquet file"):
        ParquetReader(pa.py_buffer(content))
