import pyarrow as pa

from pyhudi.basefile.parquet import ParquetReader
from pyhudi.schema.avro import parse
from pyhudi.schema.metafields import (
    META_FIELDS,
    with_meta,
    with_meta_avro,
    without_meta,
    without_meta_avro,
)
from tests.support.golden import golden_table


def test_meta_columns_come_first_and_only_once():
    schema = pa.schema([("id", pa.string()), ("_hoodie_record_key", pa.string())])
    assert with_meta(schema).names == [*META_FIELDS, "id"]
    assert without_meta(with_meta(schema)).names == ["id"]


def test_meta_fields_in_avro_are_those_of_a_footer_hudi_wrote():
    path = next(iter(sorted(golden_table("v6_cow_basic").glob("*/*.parquet"))))
    with pa.OSFile(str(path)) as source:
        stored = parse(ParquetReader(source).footer.avro_schema)
    assert with_meta_avro(without_meta_avro(stored)) == stored
