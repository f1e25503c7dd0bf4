"""What a write is asked to do, from Hudi's own options."""

import pickle

import pytest

from pyhudi.config.options.evolution import MissingColumns
from pyhudi.config.options.files import BulkInsertSortMode, ParquetCodec
from pyhudi.config.options.merging import DEFAULT_PAYLOAD, OVERWRITE_PAYLOAD
from pyhudi.config.table import TimelineZone
from pyhudi.config.write import Operation, WriteConfig
from pyhudi.errors import OptionError, UnsupportedError

W = "hoodie.datasource.write."


def test_without_options_everything_has_its_default() -> None:
    config = WriteConfig.from_options({})
    assert config == WriteConfig()
    assert config.operation is Operation.UPSERT
    assert (config.sizing.max_file_size, config.sizing.small_file_limit) == (125829120, 104857600)
    assert config.parquet.codec is ParquetCodec.ZSTD
    assert (config.bloom.fpp, config.heartbeat.interval_ms) == (1e-9, 60000)
    assert config.table.record_key_fields is None
    assert config.table.partition_fields is None


def test_every_option_reaches_its_field() -> None:
    config = WriteConfig.from_options(
        {
            "hoodie.table.name": "t",
            "hoodie.database.name": "d",
            f"{W}operation": "BULK_INSERT",
            f"{W}recordkey.field": "a,b",
            f"{W}partitionpath.field": "",
            "hoodie.table.ordering.fields": "ts",
            f"{W}keygenerator.type": "COMPLEX",
            f"{W}hive_style_partitioning": "true",
            f"{W}partitionpath.urlencode": "true",
            f"{W}keygenerator.consistent.logical.timestamp.enabled": "true",
            "hoodie.write.complex.keygen.new.encoding": "false",
            "hoodie.table.timeline.timezone": "utc",
            "hoodie.combine.before.insert": "true",
            "hoodie.merge.allow.duplicate.on.inserts": "false",
            "hoodie.write.set.null.for.missing.columns": "true",
            "hoodie.parquet.max.file.size": "1000",
            "hoodie.parquet.compression.codec": "UNCOMPRESSED",
            "hoodie.bulkinsert.sort.mode": "global_sort",
            "hoodie.bulkinsert.shuffle.parallelism": "4",
            "pyhudi.idempotency.key": "run-1",
        }
    )
    assert (config.table.name, config.table.database) == ("t", "d")
    assert config.operation is Operation.BULK_INSERT
    assert (config.table.record_key_fields, config.table.partition_fields) == (("a", "b"), ())
    assert (config.table.ordering_fields, config.table.key_generator) == (("ts",), "COMPLEX")
    assert config.table.hive_style
    assert config.table.url_encode
    assert config.table.consistent_logical_timestamp
    assert config.table.complex_key_new_encoding is False
    assert config.table.timezone is TimelineZone.UTC
    assert config.combines_batch
    assert not config.batch.allow_duplicates_on_insert
    assert config.evolution.missing is MissingColumns.NULL
    assert config.sizing.max_file_size == 1000
    assert config.parquet.codec is ParquetCodec.NONE
    assert config.bulk_insert.sort_mode is BulkInsertSortMode.GLOBAL_SORT
    assert (config.bulk_insert.parallelism, config.idempotency.key) == (4, "run-1")


def test_the_key_generator_class_goes_before_its_type() -> None:
    options = {f"{W}keygenerator.class": "org.x.Mine", f"{W}keygenerator.type": "SIMPLE"}
    assert WriteConfig.from_options(options).table.key_generator == "org.x.Mine"


def test_options_with_the_prefix_go_into_the_commit_under_their_whole_key() -> None:
    assert WriteConfig.from_options({"_run": "7", "x": "1"}).commit_metadata == {"_run": "7"}
    chosen = {f"{W}commitmeta.key.prefix": "my.", "my.run": "7", "_other": "1"}
    assert WriteConfig.from_options(chosen).commit_metadata == {"my.run": "7"}


@pytest.mark.parametrize(
    ("mode", "payload"),
    [("COMMIT_TIME_ORDERING", OVERWRITE_PAYLOAD), ("event_time_ordering", DEFAULT_PAYLOAD)],
)
def test_a_merge_mode_stands_for_a_payload_class(mode: str, payload: str) -> None:
    options = {"hoodie.write.record.merge.mode": mode}
    assert WriteConfig.from_options(options).merging.payload_class == payload


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (f"{W}operation", "insert_prepped"),
        (f"{W}payload.class", "org.apache.spark.sql.hudi.command.payload.ExpressionPayload"),
        ("hoodie.index.type", "RECORD_INDEX"),
    ],
)
def test_what_hudi_can_and_this_cannot_is_refused_with_key_and_value(key, value) -> None:
    with pytest.raises(UnsupportedError, match=value) as caught:
        WriteConfig.from_options({key: value})
    assert key in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (f"{W}operation", "merge"),
        ("hoodie.write.table.version", "7"),
        ("hoodie.parquet.compression.codec", "brotli"),
        ("hoodie.parquet.max.file.size", "120MB"),
        ("hoodie.index.bloom.fpp", "1.5"),
        ("hoodie.table.name", ""),
    ],
)
def test_a_value_without_meaning_is_named_with_its_key(key: str, value: str) -> None:
    with pytest.raises(OptionError, match=f"option {key} is '{value}'; allowed: "):
        WriteConfig.from_options({key: value})


def test_a_write_configuration_travels_to_workers() -> None:
    config = WriteConfig.from_options({"hoodie.table.name": "t"})
    assert pickle.loads(pickle.dumps(config)) == config
