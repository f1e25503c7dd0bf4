import pytest

from pyhudi.config.options.keygen import (
    CUSTOM,
    GLOBAL_DELETE,
    SIMPLE,
    PartitionKind,
    TimestampConfig,
    TimestampType,
    TimeUnit,
    agreed_timestamp_options,
    class_of_type,
    plain_class,
    split_partition_field,
    stated_timestamp_options,
)
from pyhudi.config.table import TableConfig
from pyhudi.errors import OptionError, TableMismatchError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.properties_file import load_config
from tests.support.golden import golden_table

TIME, OLD = "hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."
MILLIS = {f"{TIME}timestamp.type": "EPOCHMILLISECONDS", f"{TIME}output.dateformat": "yyyy"}


def test_types_stand_for_classes_and_classes_for_avro_for_plain_ones() -> None:
    assert class_of_type("simple") == SIMPLE
    assert class_of_type("com.example.Mine") == "com.example.Mine"
    assert plain_class("org.apache.hudi.keygen.GlobalAvroDeleteKeyGenerator") == GLOBAL_DELETE
    assert plain_class(class_of_type("CUSTOM_AVRO")) == CUSTOM
    assert plain_class("com.example.Mine") is None


def test_a_partition_field_may_have_a_kind() -> None:
    assert split_partition_field("city") == ("city", None)
    assert split_partition_field("moment:timestamp") == ("moment", PartitionKind.TIMESTAMP)
    with pytest.raises(OptionError, match=r"'city:simpel'.*SIMPLE, TIMESTAMP"):
        split_partition_field("city:simpel")


@pytest.mark.parametrize(
    ("type_", "unit"),
    [
        ("UNIX_TIMESTAMP", TimeUnit.SECONDS),
        ("EPOCHMILLISECONDS", TimeUnit.MILLISECONDS),
        ("EPOCHMICROSECONDS", TimeUnit.MICROSECONDS),
        ("SCALAR", TimeUnit.SECONDS),
        ("scalar", TimeUnit.SECONDS),
    ],
)
def test_numbers_have_a_unit(type_: str, unit: TimeUnit) -> None:
    options = {f"{OLD}timestamp.type": type_, f"{OLD}output.dateformat": "yyyy"}
    assert TimestampConfig.from_options(options).unit is unit


def test_the_unit_of_scalars_is_an_option() -> None:
    scalar = {f"{TIME}timestamp.type": "SCALAR", f"{TIME}timestamp.scalar.time.unit": "days"}
    assert TimestampConfig.from_options({**MILLIS, **scalar}).unit is TimeUnit.DAYS


def test_one_zone_goes_before_those_of_input_and_output() -> None:
    zones = {f"{TIME}input.timezone": "Asia/Tokyo", f"{TIME}output.timezone": "Europe/Paris"}
    apart = TimestampConfig.from_options({**MILLIS, **zones})
    assert (apart.input_zone, apart.output_zone) == ("Asia/Tokyo", "Europe/Paris")
    both = TimestampConfig.from_options({**MILLIS, **zones, f"{TIME}timezone": "GMT+8"})
    assert (both.input_zone, both.output_zone) == ("GMT+8", "GMT+8")


def test_input_formats_are_a_list() -> None:
    options = {
        f"{TIME}timestamp.type": "MIXED",
        f"{TIME}output.dateformat": "yyyy",
        f"{TIME}input.dateformat": "yyyy-MM-dd; yyyyMMdd",
        f"{TIME}input.dateformat.list.delimiter.regex": ";",
    }
    found = TimestampConfig.from_options(options)
    assert (found.type, found.unit) == (TimestampType.MIXED, None)
    assert found.input_formats == ("yyyy-MM-dd", "yyyyMMdd")


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({}, "timestamp.type"),
        ({f"{TIME}timestamp.type": "SCALAR"}, "output.dateformat"),
        ({**MILLIS, f"{TIME}timestamp.type": "DATE_STRING"}, "input.dateformat"),
        ({**MILLIS, f"{TIME}timestamp.type": "EPOCH"}, "EPOCHMILLISECONDS"),
        ({**MILLIS, f"{TIME}input.dateformat.list.delimiter.regex": "("}, "no regular expression"),
        ({**MILLIS, "hoodie.keygen.datetime.parser.class": "org.x.Mine"}, "HoodieDateTimeParser"),
    ],
)
def test_what_is_missing_or_wrong_is_named(options: dict[str, str], missing: str) -> None:
    with pytest.raises(OptionError, match=missing.replace(".", r"\.")):
        TimestampConfig.from_options(options)


def test_options_are_recorded_under_their_newer_names_and_the_type_as_hudi_reads_it() -> None:
    asked = {f"{OLD}timestamp.type": "scalar", f"{TIME}timezone": "UTC", "hoodie.table.name": "t"}
    stated = {f"{TIME}timestamp.type": "SCALAR", f"{TIME}timezone": "UTC"}
    assert stated_timestamp_options(asked) == stated


def test_a_request_completes_what_the_table_records_and_may_not_differ() -> None:
    recorded = {f"{TIME}output.dateformat": "yyyy"}
    assert agreed_timestamp_options(recorded, MILLIS) == MILLIS
    with pytest.raises(TableMismatchError, match="'yyyy', the request says 'yyyyMM'"):
        agreed_timestamp_options(recorded, {f"{OLD}output.dateformat": "yyyyMM"})


def test_a_table_keeps_its_timestamp_options() -> None:
    config = load_config(open_storage(str(golden_table("v6_cow_timestamp_keygen"))))
    kept = {f"{TIME}output.dateformat": "yyyy/MM/dd", f"{TIME}timezone": "UTC"}
    assert config.timestamp_options == kept
    assert TableConfig.from_properties(config.to_properties()).timestamp_options == kept


def test_a_table_of_hudi_1_1_names_its_generator_by_type() -> None:
    properties = {"hoodie.table.name": "t", "hoodie.table.version": "6"}
    properties["hoodie.table.keygenerator.type"] = "TIMESTAMP_AVRO"
    found = TableConfig.from_properties(properties)
    assert found.key_generator_class == "org.apache.hudi.keygen.TimestampBasedAvroKeyGenerator"
