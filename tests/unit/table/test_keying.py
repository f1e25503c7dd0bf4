import dataclasses
from typing import Any

import pyarrow as pa
import pytest

from pyhudi.config.options.keygen import COMPLEX, CUSTOM, GLOBAL_DELETE, SIMPLE, TIMESTAMP
from pyhudi.config.options.operations import Operation
from pyhudi.config.table import TableConfig
from pyhudi.config.write import WriteConfig
from pyhudi.errors import OptionError, TableMismatchError, UnsupportedError
from pyhudi.table.keying import (
    check_dropped_columns,
    check_virtual_keys,
    key_generator,
    partition_names,
    recorded_partition_fields,
    recorded_timestamp_options,
    without_columns,
    without_record_keys,
)
from pyhudi.table.table import open_table
from tests.support.golden import golden_table
from tests.support.in_process import CONFIG

W, TIME = "hoodie.datasource.write.", "hoodie.keygen.timebased."
MILLIS = {f"{TIME}timestamp.type": "EPOCHMILLISECONDS"}


def asked(**options: str) -> WriteConfig:
    return WriteConfig.from_options(
        {f"{W}{key.replace('__', '.')}": value for key, value in options.items()}
    )


def table(**changes: Any) -> TableConfig:
    return dataclasses.replace(CONFIG, **changes)


def test_partition_columns_are_named_without_their_kinds() -> None:
    assert partition_names(asked(partitionpath__field="a:SIMPLE,b:timestamp")) == ("a", "b")
    assert partition_names(asked(partitionpath__field="")) == ()
    assert partition_names(asked()) is None


@pytest.mark.parametrize(("kind", "fields"), [(SIMPLE, ("a",)), (GLOBAL_DELETE, ())])
def test_partition_columns_are_recorded_where_paths_go_by_them(kind: str, fields: tuple[str, ...]):
    assert recorded_partition_fields(asked(partitionpath__field="a:SIMPLE"), kind) == fields


@pytest.mark.parametrize(("kind", "count"), [(TIMESTAMP, 1), (CUSTOM, 0), (SIMPLE, 0)])
def test_timestamp_options_are_recorded_where_hudi_records_them(kind: str, count: int) -> None:
    assert len(recorded_timestamp_options(WriteConfig.from_options(MILLIS), kind)) == count


def test_an_upsert_without_record_keys_is_an_insert() -> None:
    assert without_record_keys(asked(operation="upsert")).operation is Operation.INSERT
    for operation in ("insert", "bulk_insert", "insert_overwrite", "delete_partition"):
        assert without_record_keys(asked(operation=operation)).operation.value == operation


@pytest.mark.parametrize(
    "options",
    [
        {f"{W}operation": "delete"},
        {f"{W}operation": "insert", "hoodie.combine.before.insert": "true"},
        {f"{W}operation": "insert", f"{W}insert.drop.duplicates": "true"},
    ],
)
def test_what_needs_keys_that_mean_something_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=r"no record key|need a record key"):
        without_record_keys(WriteConfig.from_options(options))


@pytest.mark.parametrize(
    "changes",
    [
        {"key_generator_class": TIMESTAMP},
        {"key_generator_class": "org.apache.hudi.keygen.SimpleAvroKeyGenerator"},
        {"record_key_fields": ()},
        {"drop_partition_columns": True},
    ],
)
def test_tables_without_meta_columns_need_keys_that_rows_tell(changes: dict[str, Any]) -> None:
    check_virtual_keys(table(**changes))
    with pytest.raises(UnsupportedError, match=r"hoodie\.populate\.meta\.fields=false"):
        check_virtual_keys(table(populate_meta_fields=False, **changes))


def test_plain_tables_may_do_without_meta_columns() -> None:
    for kind in (SIMPLE, COMPLEX, None):
        check_virtual_keys(table(populate_meta_fields=False, key_generator_class=kind))


def test_partition_columns_that_paths_do_not_tell_are_kept() -> None:
    check_dropped_columns(table(drop_partition_columns=True))
    for kind in (TIMESTAMP, CUSTOM):
        check_dropped_columns(table(key_generator_class=kind))
        with pytest.raises(UnsupportedError, match="do not tell the columns' values"):
            check_dropped_columns(table(drop_partition_columns=True, key_generator_class=kind))


def test_columns_are_taken_away_by_name() -> None:
    schema = pa.schema({"a": pa.string(), "b": pa.string()})
    assert without_columns(schema, ("b", "c")).names == ["a"]


def test_a_request_completes_what_a_table_of_hudi_records() -> None:
    found = open_table(str(golden_table("v6_cow_timestamp_keygen")))
    made_by = key_generator(found.config, WriteConfig.from_options(MILLIS), found)
    rows = pa.table({"id": ["k"], "moment": pa.array([1_700_000_000_000])})
    assert made_by.partition_paths(rows).to_pylist() == ["2023/11/14"]
    other = {**MILLIS, f"{TIME}output.dateformat": "yyyy"}
    with pytest.raises(TableMismatchError, match="yyyy/MM/dd"):
        key_generator(found.config, WriteConfig.from_options(other), found)


@pytest.mark.parametrize(("asks_for", "key"), [("false", "id:1"), ("true", "1"), (None, "1")])
def test_a_complex_key_of_one_field_is_spelled_as_asked_in_a_new_table(
    asks_for: str | None, key: str
) -> None:
    options = {"hoodie.write.complex.keygen.new.encoding": asks_for} if asks_for else {}
    config = table(key_generator_class=COMPLEX, partition_fields=())
    made_by = key_generator(config, WriteConfig.from_options(options), None)
    assert made_by.record_keys(pa.table({"id": ["1"]})).to_pylist() == [key]
