import pyarrow as pa
import pytest

from pyhudi.basefile.open import open_base_file
from pyhudi.basefile.orc.file import OrcWriteOptions
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.basefile.writer import BaseFileWriter, FileEncoding, format_of
from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import CorruptTableError
from pyhudi.schema.arrow import arrow_to_avro

SCHEMA = pa.schema([("id", pa.string()), ("at", pa.timestamp("us", "UTC"))])
ROWS = pa.table({"id": ["a", "b"], "at": pa.array([1, None])}, schema=SCHEMA)


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [(ParquetWriteOptions(), BaseFileFormat.PARQUET), (OrcWriteOptions(), BaseFileFormat.ORC)],
)
def test_a_file_is_written_as_its_encoding_and_read_as_its_name_says(
    encoding: FileEncoding, kind: BaseFileFormat
) -> None:
    assert format_of(encoding) is kind
    sink = pa.BufferOutputStream()
    writer = BaseFileWriter(sink, SCHEMA, arrow_to_avro(SCHEMA, "t"), encoding, None)
    writer.write(ROWS)
    writer.close()
    source = pa.BufferReader(sink.getvalue())
    reader = open_base_file(source, name=f"p/f{kind.extension}")
    assert (reader.row_groups, reader.row_count) == (1, 2)
    assert reader.schema.equals(SCHEMA)
    assert pa.concat_tables(reader.iter_tables()).equals(ROWS)
    other = BaseFileFormat.ORC if kind is BaseFileFormat.PARQUET else BaseFileFormat.PARQUET
    with pytest.raises(CorruptTableError, match=f"p/f.* is no {other.title} file"):
        open_base_file(source, name=f"p/f{other.extension}")
