from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.config.options.keygen import (
    CLASS_OF_TYPE,
    COMPLEX,
    CUSTOM,
    GLOBAL_DELETE,
    NON_PARTITION,
    SIMPLE,
    TIMESTAMP,
    PartitionKind,
    TimestampConfig,
)
from pyhudi.errors import OptionError, RequestError, UnsupportedError
from pyhudi.keys.dates.timestamp_path import TimestampPath
from pyhudi.keys.generators import KeyGenerator, infer_key_generator_class, paths_hold_values
from pyhudi.keys.partition_path import partition_values
from tests.support.golden import golden_table

META = ("_hoodie_record_key", "_hoodie_partition_path")


def days(pattern: str, kind: str = "EPOCHMILLISECONDS") -> TimestampPath:
    options = {
        "hoodie.keygen.timebased.timestamp.type": kind,
        "hoodie.keygen.timebased.output.dateformat": pattern,
        "hoodie.keygen.timebased.timezone": "UTC",
    }
    return TimestampPath(config=TimestampConfig.from_options(options), this_year=2026)


VALUE_AND_TIME = {"partition_kinds": (PartitionKind.SIMPLE, PartitionKind.TIMESTAMP)}
MONTHS = days("yyyy-MM", "EPOCHMICROSECONDS")


def generator(kind: str, keys: str, partitions: str = "", **options: Any) -> KeyGenerator:
    return KeyGenerator(
        record_key_fields=tuple(keys.split(",")),
        partition_fields=tuple(partitions.split(",")) if partitions else (),
        key_generator_class=kind,
        **options,
    )


def keys_and_paths(made_by: KeyGenerator, rows: pa.RecordBatch | pa.Table) -> tuple[pa.Array, ...]:
    return made_by.record_keys(rows), made_by.partition_paths(rows)


GOLDEN = {
    "v6_cow_basic": generator(SIMPLE, "id", "part"),
    "v6_cow_hive": generator(SIMPLE, "id", "part", hive_style=True),
    "v6_cow_multi_hive": generator(COMPLEX, "id,sub", "region,city", hive_style=True),
    "v6_cow_nonpart": generator(NON_PARTITION, "id"),
    "v6_cow_nested_key": generator(SIMPLE, "who.id", "Part"),
    "v6_cow_odd_partitions": generator(SIMPLE, "id", "part", hive_style=True, url_encode=True),
    "v6_cow_odd_partitions_plain": generator(SIMPLE, "id", "part"),
    "v6_cow_small_ints": generator(SIMPLE, "id", "part"),
    "v6_cow_soft_delete": generator(SIMPLE, "id", "part"),
    "v6_cow_sql": generator(SIMPLE, "id", "part", hive_style=True),
    "v6_cow_timestamp_keygen": generator(TIMESTAMP, "id", "moment", timestamps=days("yyyy/MM/dd")),
    "v6_cow_custom_keygen_long": generator(
        CUSTOM, "id", "grp,moment", hive_style=True, timestamps=days("yyyy-MM"), **VALUE_AND_TIME
    ),
    "v6_cow_types_row_writer": generator(SIMPLE, "id", "part", consistent_logical_timestamp=True),
}


def base_files(table: Path) -> list[Path]:
    found = [path for path in table.rglob("*.parquet") if ".hoodie" not in path.parts]
    assert found
    return found


@pytest.mark.parametrize("name", GOLDEN)
def test_keys_and_paths_are_those_hudi_wrote_beside_the_rows(name: str) -> None:
    for file in base_files(golden_table(name)):
        rows = pq.ParquetFile(file).read(use_threads=False)
        keys, paths = keys_and_paths(GOLDEN[name], rows)
        assert keys.to_pylist() == rows[META[0]].to_pylist()
        assert paths.to_pylist() == rows[META[1]].to_pylist()


@pytest.mark.parametrize(
    "name", [name for name in GOLDEN if "nested" not in name and "keygen" not in name]
)
def test_paths_hudi_wrote_give_back_the_rows_partition_values(name: str) -> None:
    made_by = GOLDEN[name]
    for file in base_files(golden_table(name)):
        rows = pq.ParquetFile(file).read(use_threads=False)
        kinds = [rows.schema.field(field).type for field in made_by.path_fields]
        written = {"hive_style": made_by.hive_style, "url_encoded": made_by.url_encode}
        path = rows[META[1]][0].as_py()
        values = partition_values(path, made_by.path_fields, kinds, **written)
        assert values is not None
        for field in made_by.path_fields:
            assert {value or None for value in rows[field].to_pylist()} == {values[field].as_py()}


BATCH = pa.RecordBatch.from_pydict(
    {
        "id": pa.array([1, 2], pa.int32()),
        "at": pa.array([1577836800000000, None], pa.timestamp("us", "UTC")),
        "who": pa.array([{"name": "a", "in": {"x": 1}}, None]),
        "name": ["n1", ""],
    }
)


def typed_rows() -> pa.RecordBatch:
    columns = {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "d": pa.array([1.0, 1e-3, 1e7, float("nan")], pa.float64()),
        "f": pa.array([1.0, 9.9e-4, 3.4028234e38, None], pa.float32()),
        "b": pa.array([True, False, None, True]),
        "m": pa.array(["0.0000001", "0", "123.456", "-0.00000123"]).cast(pa.decimal128(20, 10)),
        "dt": pa.array([18292, -1, 2932896, None], pa.int32()).cast(pa.date32()),
        "t": pa.array(
            [1577836800000000, -1, 1625402096120000, -2208988799999999], pa.timestamp("us", "UTC")
        ),
        "y": pa.array([b"abc", "é".encode(), b"\xff", b""]),
        "s": pa.array(["x", "", None, "a:b,c"]),
    }
    return pa.RecordBatch.from_pydict(columns)


AVRO_KEYS = [
    "id:1,d:1.0,f:1.0,b:true,m:1.000E-7,dt:2020-01-31,t:1577836800000000,s:x,y:616263",
    "id:2,d:0.001,f:9.9E-4,b:false,m:0E-10,dt:1969-12-31,t:-1,s:__empty__,y:c3a9",
    "id:3,d:1.0E7,f:3.4028235E38,b:__null__,m:123.4560000000,dt:9999-12-31,"
    "t:1625402096120000,s:__null__,y:ff",
    "id:4,d:NaN,f:__null__,b:true,m:-0.0000012300,dt:__null__,t:-2208988799999999,"
    "s:a:b,c,y:__empty__",
]
LOGICAL_PATHS = [
    "t=2019-12-31 19%3A00%3A00.0/d=1.0/dt=2020-01-31/m=1.000E-7",
    "t=1969-12-31 19%3A00%3A00.0/d=0.001/dt=1969-12-31/m=0E-10",
    "t=2021-07-04 08%3A34%3A56.12/d=1.0E7/dt=9999-12-31/m=123.4560000000",
    "t=1899-12-31 19%3A00%3A00.001/d=NaN/dt=__HIVE_DEFAULT_PARTITION__/m=-0.0000012300",
]


def test_every_type_reads_as_hudi_0_15_0_and_1_1_1_were_seen_to_write_it() -> None:
    made_by = generator(COMPLEX, "id,d,f,b,m,dt,t,s,y", "t,d,dt,m")
    assert made_by.record_keys(typed_rows()).to_pylist() == AVRO_KEYS
    as_text = {"consistent_logical_timestamp": True, "timezone": "America/New_York"}
    made_by = generator(COMPLEX, "id", "t,d,dt,m", hive_style=True, url_encode=True, **as_text)
    assert made_by.partition_paths(typed_rows()).to_pylist() == LOGICAL_PATHS


def test_the_prefix_option_touches_no_other_generator() -> None:
    made_by = generator(SIMPLE, "id", "name", single_field_complex_prefix=True)
    assert made_by.record_keys(BATCH).to_pylist() == ["1", "2"]
    made_by = generator(NON_PARTITION, "id", single_field_complex_prefix=True)
    assert made_by.record_keys(BATCH).to_pylist() == ["1", "2"]


def test_timestamps_are_longs_unless_they_are_asked_to_be_text_everywhere() -> None:
    default = "__HIVE_DEFAULT_PARTITION__"
    upserts = generator(SIMPLE, "id", "at")
    assert upserts.partition_paths(BATCH).to_pylist() == ["1577836800000000", default]
    options = {"consistent_logical_timestamp": True, "timezone": "Asia/Tokyo"}
    text = generator(SIMPLE, "id", "at", **options)
    assert text.partition_paths(BATCH).to_pylist() == ["2020-01-01 09:00:00.0", default]


def test_nested_fields_keep_their_dotted_name() -> None:
    made_by = generator(COMPLEX, "id,who.in.x", "who.name", hive_style=True)
    keys, paths = keys_and_paths(made_by, BATCH)
    assert keys.to_pylist() == ["id:1,who.in.x:1", "id:2,who.in.x:__null__"]
    assert paths.to_pylist() == ["who.name=a", "who.name=__HIVE_DEFAULT_PARTITION__"]


def test_tables_and_sliced_batches_give_the_same_keys_as_batches() -> None:
    made_by = generator(COMPLEX, "id,at", "name")
    whole = made_by.record_keys(BATCH)
    table = pa.Table.from_batches([BATCH.slice(0, 1), BATCH.slice(1)])
    assert made_by.record_keys(table).equals(whole)
    assert made_by.record_keys(BATCH.slice(1)).equals(whole.slice(1))


def test_an_empty_batch_has_no_keys_and_no_paths() -> None:
    keys, paths = keys_and_paths(generator(COMPLEX, "id,at", "name"), BATCH.slice(0, 0))
    assert (keys.to_pylist(), paths.to_pylist()) == ([], [])


@pytest.mark.parametrize("name", ["nope", "who.nope", "id.x"])
def test_a_missing_column_is_named_with_those_there_are(name: str) -> None:
    with pytest.raises(RequestError, match=rf"record key field '{name}'.*id, at, who, name"):
        keys_and_paths(generator(NON_PARTITION, name), BATCH)
    with pytest.raises(RequestError, match=rf"partition path field '{name}'"):
        keys_and_paths(generator(SIMPLE, "id", name), BATCH)


def test_a_column_of_an_unsuitable_type_is_named() -> None:
    with pytest.raises(UnsupportedError, match="record key field 'who'"):
        keys_and_paths(generator(NON_PARTITION, "who"), BATCH)


@pytest.mark.parametrize("kind", [CUSTOM, TIMESTAMP, "com.example.Mine", None])
def test_paths_of_other_generators_do_not_tell_values(kind: str | None) -> None:
    assert not paths_hold_values(kind)


@pytest.mark.parametrize("kind", CLASS_OF_TYPE.values())
def test_classes_for_avro_records_make_the_same_keys_and_paths(kind: str) -> None:
    plain = kind.replace("GlobalAvro", "Global").replace("Avro", "")
    kinds = (PartitionKind.TIMESTAMP,) if plain == CUSTOM else ()
    made, wanted = (
        generator(name, "id", "at", timestamps=MONTHS, partition_kinds=kinds)
        for name in (kind, plain)
    )
    assert keys_and_paths(made, BATCH) == keys_and_paths(wanted, BATCH)


def test_a_time_goes_into_the_path_and_not_into_the_key() -> None:
    made_by = generator(TIMESTAMP, "at", "at", timestamps=MONTHS, hive_style=True)
    keys, paths = keys_and_paths(made_by, BATCH.slice(0, 1))
    assert (keys.to_pylist(), paths.to_pylist()) == (["1577836800000000"], ["at=2020-01"])


def test_a_custom_path_mixes_values_and_times() -> None:
    made_by = generator(CUSTOM, "id", "name,at", timestamps=MONTHS, **VALUE_AND_TIME)
    keys, paths = keys_and_paths(made_by, BATCH)
    assert keys.to_pylist() == ["1", "2"]
    assert paths.to_pylist() == ["n1/2020-01", "__HIVE_DEFAULT_PARTITION__/1970-01"]


def test_a_custom_generator_without_partition_fields_has_one_partition() -> None:
    keys, paths = keys_and_paths(generator(CUSTOM, "id,name"), BATCH)
    assert keys.to_pylist() == ["id:1,name:n1", "id:2,name:__empty__"]
    assert paths.to_pylist() == ["", ""]


def test_global_deletes_name_their_only_field_and_have_no_partition() -> None:
    keys, paths = keys_and_paths(generator(GLOBAL_DELETE, "id", "name"), BATCH)
    assert (keys.to_pylist(), paths.to_pylist()) == (["id:1", "id:2"], ["", ""])


def test_without_record_key_fields_only_paths_are_made() -> None:
    made_by = KeyGenerator(
        record_key_fields=(), partition_fields=("name",), key_generator_class=SIMPLE
    )
    assert made_by.generates_keys
    assert made_by.partition_paths(BATCH).to_pylist() == ["n1", "__HIVE_DEFAULT_PARTITION__"]


def test_the_columns_of_a_key_are_named_once_and_by_their_top() -> None:
    assert generator(COMPLEX, "id,who.in.x,who.name", "name").key_columns == ("id", "who")


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (("com.example.Mine", "id", "name"), UnsupportedError, r"com\.example\.Mine"),
        ((TIMESTAMP, "id", "name"), OptionError, "go by time"),
        ((SIMPLE, "id,at", "name"), OptionError, "takes one record key field"),
        ((SIMPLE, "id", "name,at"), OptionError, "takes one record key field"),
        ((SIMPLE, "id", ""), OptionError, "takes one record key field"),
    ],
)
def test_fields_that_a_generator_does_not_take_are_refused_at_once(fields, error, message) -> None:
    with pytest.raises(error, match=message):
        generator(*fields)


@pytest.mark.parametrize(
    ("keys", "partitions", "configured", "expected"),
    [
        (("id",), ("p",), None, SIMPLE),
        (("id", "sub"), ("p",), None, COMPLEX),
        (("id",), ("p", "q"), None, COMPLEX),
        (("id",), (), None, NON_PARTITION),
        (("id", "sub"), (), None, NON_PARTITION),
        ((), ("p",), None, SIMPLE),
        (("id",), ("p:simple", "q:timestamp"), None, CUSTOM),
        (("id",), ("p",), COMPLEX, COMPLEX),
        (("id",), ("p",), "complex", COMPLEX),
        (("id",), ("p",), "com.example.Mine", "com.example.Mine"),
        (("id",), ("p",), "", SIMPLE),
    ],
)
def test_the_class_follows_from_the_fields_unless_configured(
    keys: tuple[str, ...], partitions: tuple[str, ...], configured: str | None, expected: str
) -> None:
    assert infer_key_generator_class(keys, partitions, configured) == expected
