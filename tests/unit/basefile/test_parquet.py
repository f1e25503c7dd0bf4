from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.basefile.bloom import BloomBuilder, BloomParameters
from pyhudi.basefile.parquet import ParquetReader, ParquetWriteOptions
from pyhudi.basefile.writer import BaseFileWriter
from pyhudi.errors import CorruptTableError, InvariantError, RecordKeyError
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from pyhudi.schema.metafields import FILE_NAME, META_FIELDS, RECORD_KEY, with_meta, with_meta_avro
from tests.support.golden import golden_names, golden_table

_SMALL_BLOOM = BloomParameters(num_entries=50, max_entries=100)
_DATA = pa.schema([("id", pa.string()), ("n", pa.int64())])


def _rows(start: int, stop: int) -> pa.Table:
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


def _written(
    tables: Sequence[pa.Table | pa.RecordBatch],
    schema: pa.Schema = _DATA,
    bloom: BloomParameters | None = _SMALL_BLOOM,
    **options: object,
) -> pa.Buffer:
    sink = _Sink()
    avro = with_meta_avro(arrow_to_avro(schema, "t"))
    with BaseFileWriter(
        sink.stream, with_meta(schema), avro, ParquetWriteOptions(**options), bloom
    ) as writer:
        for table in tables:
            writer.write(table)
    return sink.content


class _Sink:
    """A stream whose bytes outlive its being closed."""

    def __init__(self) -> None:
        self._file = _Keep()
        self.stream = pa.PythonFile(self._file, mode="w")

    @property
    def content(self) -> pa.Buffer:
        return pa.py_buffer(bytes(self._file.data))


class _Keep:
    def __init__(self) -> None:
        self.data = bytearray()
        self.closed = False

    def write(self, data: bytes) -> int:
        self.data += bytes(data)
        return len(data)

    def tell(self) -> int:
        return len(self.data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


def test_footer_says_what_the_file_holds():
    footer = ParquetReader(_written([_rows(0, 90), _rows(90, 120)])).footer
    bloom = BloomBuilder(_SMALL_BLOOM)
    bloom.add(_rows(0, 120).column(RECORD_KEY))
    assert footer.bloom_text == bloom.to_text()
    assert footer.bloom_type_code == "DYNAMIC_V0"
    assert (footer.min_key, footer.max_key) == ("k0", "k99")
    assert footer.avro_schema == dumps(with_meta_avro(arrow_to_avro(_DATA, "t")))


def test_rows_come_back_in_order_whatever_the_row_groups():
    content = _written([_rows(0, 70), _rows(70, 71), _rows(71, 200)], row_group_rows=64)
    reader = ParquetReader(content)
    assert reader.row_groups == 4
    found = pa.concat_tables(reader.iter_tables(batch_rows=50))
    assert found.to_pydict() == _rows(0, 200).to_pydict()
    assert [table.num_rows for table in reader.iter_tables(["n"], [3])] == [8]


def test_row_group_ends_at_its_bytes_too():
    reader = ParquetReader(_written([_rows(0, 10), _rows(10, 20)], row_group_bytes=1))
    assert reader.row_groups == 2


def test_each_row_group_keeps_its_dictionary():
    first, second = _rows(0, 10), _rows(10, 20)
    second = second.set_column(4, FILE_NAME, pa.array(["g.parquet"] * 10).dictionary_encode())
    content = _written([first, second])
    column = pq.read_metadata(pa.BufferReader(content)).row_group(0).column(4)
    assert column.has_dictionary_page
    assert column.encodings.count("PLAIN") == 1
    found = pa.concat_tables(ParquetReader(content).iter_tables([FILE_NAME]))
    assert found.column(0).to_pylist() == ["f.parquet"] * 10 + ["g.parquet"] * 10


def test_file_without_rows_is_whole():
    reader = ParquetReader(_written([]))
    assert reader.schema.names == [*META_FIELDS, "id", "n"]
    assert reader.footer.bloom_text is not None
    assert reader.footer.min_key is None
    assert list(reader.iter_tables([RECORD_KEY])) == []


def test_file_without_meta_fields_has_the_avro_schema_alone():
    reader = ParquetReader(_written([_rows(0, 3)], bloom=None))
    assert reader.footer.bloom_text is None
    assert reader.footer.min_key is None
    assert reader.footer.avro_schema is not None


def test_no_arrow_schema_is_left_in_the_footer():
    metadata = pq.read_metadata(pa.BufferReader(_written([_rows(0, 3)]))).metadata
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
    meta = _rows(0, 1).select(META_FIELDS)
    columns = [pa.array(values[field.name], field.type) for field in schema]
    table = pa.table([*meta.columns, *columns], names=[*META_FIELDS, *schema.names])
    content = _written([table], schema)
    found = pq.ParquetFile(pa.BufferReader(content))
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


def test_row_without_a_key_is_refused():
    keyless = _rows(0, 2).set_column(2, RECORD_KEY, pa.array(["k", None]))
    with pytest.raises(RecordKeyError, match="1 of 2"):
        _written([keyless])


def test_rows_of_other_columns_are_refused():
    with pytest.raises(InvariantError, match="columns"):
        _written([_rows(0, 1).select(["n"])])


def test_abandoned_file_has_no_footer():
    sink = _Sink()
    writer = BaseFileWriter(
        sink.stream, with_meta(_DATA), {}, ParquetWriteOptions(row_group_rows=5), _SMALL_BLOOM
    )
    writer.write(_rows(0, 20))
    writer.abandon()
    del writer
    assert sink.stream.closed
    with pytest.raises(CorruptTableError):
        ParquetReader(sink.content)


def test_size_is_estimated_while_writing_and_exact_when_closed():
    sink = _Sink()
    avro = with_meta_avro(arrow_to_avro(_DATA, "t"))
    writer = BaseFileWriter(
        sink.stream, with_meta(_DATA), avro, ParquetWriteOptions(row_group_rows=5_000), None
    )
    for start in range(0, 20_000, 1_000):
        writer.write(_rows(start, start + 1_000))
    estimate = writer.estimated_size
    with pytest.raises(InvariantError):
        _ = writer.bytes_written
    writer.close()
    assert writer.bytes_written == sink.content.size
    assert writer.bytes_written * 0.7 < estimate < writer.bytes_written * 1.3


def test_kept_rows_add_nothing_to_an_inherited_filter():
    before = ParquetReader(_written([_rows(0, 40)])).footer.bloom_filter()
    sink = _Sink()
    avro = with_meta_avro(arrow_to_avro(_DATA, "t"))
    with BaseFileWriter(
        sink.stream,
        with_meta(_DATA),
        avro,
        ParquetWriteOptions(),
        _SMALL_BLOOM,
        previous_bloom=before,
    ) as writer:
        writer.write(_rows(0, 40), is_kept=True)
        writer.write(_rows(40, 45))
    footer = ParquetReader(sink.content).footer
    assert footer.bloom_text == ParquetReader(_written([_rows(0, 45)])).footer.bloom_text
    assert (footer.min_key, footer.max_key) == ("k0", "k9")


def test_columns_come_in_the_order_asked_for_and_unknown_ones_are_left_out():
    (table,) = ParquetReader(_written([_rows(0, 3)])).iter_tables(["n", "no_such", "id"])
    assert table.schema.names == ["n", "id"]


def test_kept_dictionaries_spare_the_keys():
    count = 3_000
    rows = _rows(0, count)
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
                tables = list(reader.iter_tables(batch_rows=3, keep_dictionaries=keep))
                assert [
                    row for table in tables for row in table.to_pylist()
                ] == expected.to_pylist()
            keys = [
                key
                for rows in reader.iter_tables([RECORD_KEY])
                for key in rows[RECORD_KEY].to_pylist()
            ]
            assert keys == expected.column(RECORD_KEY).to_pylist()


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all, this"])
def test_what_is_no_parquet_file_is_corrupt(content):
    with pytest.raises(CorruptTableError, match="no Parquet file"):
        ParquetReader(pa.py_buffer(content))
