"""What files of both formats have in common."""

from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi.basefile.bloom.filter import BloomBuilder
from pyhudi.basefile.orc.file import OrcReader, OrcWriteOptions
from pyhudi.basefile.parquet import ParquetReader, ParquetWriteOptions
from pyhudi.basefile.writer import BaseFileWriter
from pyhudi.errors import CorruptTableError, InvariantError, RecordKeyError
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from pyhudi.schema.metafields import RECORD_KEY, with_meta
from tests.support.base_files import AVRO, DATA, SMALL_BLOOM, rows_from, written

PARQUET, ORC = ParquetWriteOptions(row_group_rows=5_000), OrcWriteOptions()
READERS = {ParquetWriteOptions: ParquetReader, OrcWriteOptions: OrcReader}
FORMATS = pytest.mark.parametrize("options", [PARQUET, ORC], ids=["parquet", "orc"])
Options = ParquetWriteOptions | OrcWriteOptions


def reader_of(options: Options, content: pa.Buffer) -> ParquetReader | OrcReader:
    return READERS[type(options)](content)


@FORMATS
def test_the_footer_says_what_the_file_holds(options: Options) -> None:
    footer = reader_of(options, written([rows_from(0, 90), rows_from(90, 120)], options)).footer
    bloom = BloomBuilder(SMALL_BLOOM)
    bloom.add(rows_from(0, 120).column(RECORD_KEY))
    assert (footer.bloom_text, footer.bloom_type_code) == (bloom.to_text(), "DYNAMIC_V0")
    assert (footer.min_key, footer.max_key, footer.avro_schema) == ("k0", "k99", dumps(AVRO))


@FORMATS
def test_a_file_without_rows_is_whole(options: Options) -> None:
    reader = reader_of(options, written([], options))
    assert (list(reader.iter_tables()), list(reader.iter_tables([RECORD_KEY]))) == ([], [])
    assert reader.schema.equals(with_meta(DATA))
    assert reader.footer.min_key is None
    assert reader.footer.bloom_text is not None


@FORMATS
def test_without_meta_columns_there_is_only_the_schema_in_the_footer(options: Options) -> None:
    avro = arrow_to_avro(DATA, "t")
    for schema in (DATA, with_meta(DATA)):
        sink = pa.BufferOutputStream()
        with BaseFileWriter(sink, schema, avro, options, None) as writer:
            writer.write(rows_from(0, 3).select(schema.names))
        footer = reader_of(options, sink.getvalue()).footer
        assert footer.orc_entries() == {"orc.avro.schema": dumps(avro)}


@FORMATS
def test_kept_rows_add_nothing_to_an_inherited_filter(options: Options) -> None:
    before = reader_of(options, written([rows_from(0, 40)], options)).footer.bloom_filter()
    sink, schema = pa.BufferOutputStream(), with_meta(DATA)
    with BaseFileWriter(sink, schema, AVRO, options, SMALL_BLOOM, previous_bloom=before) as writer:
        writer.write(rows_from(0, 10), is_kept=True)
        writer.write(rows_from(40, 45))
    footer = reader_of(options, sink.getvalue()).footer
    whole = reader_of(options, written([rows_from(0, 45)], options)).footer
    assert footer.bloom_text == whole.bloom_text
    assert (footer.min_key, footer.max_key) == ("k0", "k9")
    found = footer.bloom_filter()
    assert found is not None
    assert found.contains(pa.array(["k39", "k44", "no"])).to_pylist() == [True, True, False]


@FORMATS
def test_the_size_is_guessed_while_writing_and_known_at_the_end(options: Options) -> None:
    sink = pa.BufferOutputStream()
    writer = BaseFileWriter(sink, with_meta(DATA), AVRO, options, None)
    for start in range(0, 20_000, 1_000):
        writer.write(rows_from(start, start + 1_000))
    if options is ORC:
        assert writer.held_bytes > 0
        writer.flush()
        assert writer.held_bytes == 0
    guess = writer.estimated_size
    with pytest.raises(InvariantError):
        _ = writer.bytes_written
    writer.close()
    size = writer.bytes_written
    assert size == sink.getvalue().size == writer.estimated_size
    assert (guess < 2 * size) if options is ORC else (size * 0.7 < guess < size * 1.3)


@FORMATS
def test_a_file_abandoned_at_a_row_without_a_key_has_no_footer(options: Options, tmp_path: Path):
    sink = pa.OSFile(str(tmp_path / "f"), "wb")
    keyless = rows_from(0, 2).set_column(2, RECORD_KEY, pa.array(["k", None]))
    writer = BaseFileWriter(sink, with_meta(DATA), AVRO, options, SMALL_BLOOM)
    with pytest.raises(RecordKeyError, match="1 of 2"), writer:  # noqa: PT012 - the context is tested
        writer.write(rows_from(0, 20_000))
        writer.write(keyless)
    del writer
    assert sink.closed
    kind = "Parquet" if options is PARQUET else "ORC"
    with pytest.raises(CorruptTableError, match=f"is no {kind} file"):
        reader_of(options, pa.py_buffer((tmp_path / "f").read_bytes()))


@FORMATS
def test_rows_of_other_columns_are_a_mistake_of_ours(options: Options) -> None:
    with pytest.raises(InvariantError, match=r"columns.* were given to a base file"):
        written([rows_from(0, 1).drop_columns(["n"])], options)
