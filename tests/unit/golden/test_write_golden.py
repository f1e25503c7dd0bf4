"""Tables that Hudi wrote with odd keys are gone on with: what is stored is found and replaced."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyhudi
from pyhudi.schema.metafields import META_FIELDS, RECORD_KEY
from tests.support.golden import golden_copy
from tests.support.orders import write

_WRITE, _TIME = "hoodie.datasource.write.", "hoodie.keygen.timebased."


class Golden(NamedTuple):
    """A table, what a write to it has to say, and columns that readers get otherwise."""

    options: Mapping[str, str]
    shown: Mapping[str, pa.DataType] = {}


TABLES = {
    "v6_cow_no_meta_fields": Golden({}),
    "v6_cow_drop_partition_columns": Golden({}),
    "v6_cow_bootstrap": Golden({}),
    "v6_cow_bootstrap_full": Golden({}),
    "v6_mor_bootstrap": Golden({}),
    "v6_cow_timestamp_keygen": Golden(
        {f"{_TIME}timestamp.type": "EPOCHMILLISECONDS"}, {"moment": pa.int64()}
    ),
    "v6_cow_custom_keygen_long": Golden(
        {
            f"{_WRITE}partitionpath.field": "grp:SIMPLE,moment:TIMESTAMP",
            f"{_TIME}timestamp.type": "EPOCHMILLISECONDS",
            f"{_TIME}output.dateformat": "yyyy-MM",
            f"{_TIME}timezone": "UTC",
        }
    ),
    "v8_cow_archived": Golden({}),
    "v8_cow_from_v6": Golden({}),
    "v8_cow_multi_hive": Golden({}),
    "v8_cow_sql": Golden({}),
    "v8_cow_types": Golden({}),
    "v9_cow_clustered": Golden({}),
    "v9_cow_custom_keygen_long": Golden(
        {
            f"{_TIME}timestamp.type": "EPOCHMILLISECONDS",
            f"{_TIME}output.dateformat": "yyyy-MM",
            f"{_TIME}timezone": "UTC",
        }
    ),
    "v9_cow_from_v6": Golden({}),
    "v9_cow_inflight": Golden({}),
    "v9_cow_metadata_full": Golden({}),
    "v9_cow_nested_key": Golden({}),
    "v9_cow_no_meta_fields": Golden({}),
    "v9_cow_odd_partitions": Golden({}),
    "v9_cow_restore": Golden({}),
    "v9_cow_timestamp_keygen": Golden({}, {"moment": pa.int64()}),
}


def rows_of(table: Path, shown: Mapping[str, pa.DataType]) -> pa.Table:
    """The rows as they were written."""
    rows = pyhudi.read_table(table).drop_columns(list(META_FIELDS))
    for name, kind in shown.items():
        rows = rows.set_column(rows.column_names.index(name), name, rows[name].cast(kind))
    return rows


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_hudis_tables_are_replaced_and_deleted(tmp_path: Path, name: str) -> None:
    options, shown = TABLES[name]
    table = golden_copy(name, tmp_path)
    version = pyhudi.open_table(table).config.version
    before = rows_of(table, shown)
    later = pc.add(before["ts"], pa.scalar(10_000, pa.int64()))
    changed = before.set_column(before.column_names.index("ts"), "ts", later).slice(0, 5)
    result = write(table, changed, "upsert", options)
    assert result.records["updated"] == 5
    after = rows_of(table, shown)
    assert after.num_rows == before.num_rows
    assert pc.sum(after["ts"]).as_py() == pc.sum(before["ts"]).as_py() + 50_000

    result = write(table, changed.slice(0, 2), "delete", options)
    assert result.records["deleted"] == 2
    assert pyhudi.open_table(table).config.version is version
    assert rows_of(table, shown).num_rows == before.num_rows - 2


def test_a_table_without_record_key_takes_rows_and_numbers_them(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_auto_keys", tmp_path)
    before = pyhudi.read_table(table)
    rows = before.drop_columns(list(META_FIELDS)).slice(0, 6)
    ours = [
        write(table, rows, operation, options).instant
        for operation, options in (
            ("insert", {}),
            ("bulk_insert", {"hoodie.bulkinsert.sort.mode": "GLOBAL_SORT"}),
            ("upsert", {}),
        )
    ]
    keys = pyhudi.read_table(table)[RECORD_KEY].to_pylist()
    assert len(set(keys)) == len(keys) == before.num_rows + 3 * rows.num_rows
    for instant in ours:
        places = [key.split("_")[1:] for key in keys if key.startswith(f"{instant}_")]
        assert len(places) == rows.num_rows
        assert all(task.isdigit() and row.isdigit() for task, row in places)
