from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.options.keygen import TIMESTAMP, TimestampConfig
from pyhudi.keys.dates.timestamp_path import TimestampPath
from pyhudi.keys.generators import COMPLEX, NON_PARTITION, KeyGenerator
from pyhudi.runner.task import TaskIdentity
from pyhudi.storage.schemes import open_storage
from pyhudi.write.failed import FailedFile, find_failed, keep_saved

_SCHEMA = pa.schema([("id", pa.string()), ("sub", pa.int32()), ("n", pa.int32())])
_KINDS = pa.schema(
    [("id", pa.string()), ("sub", pa.int32()), ("n", pa.int64()), ("ts", pa.int64())]
)


def _generator(*keys: str) -> KeyGenerator:
    kind = NON_PARTITION if len(keys) == 1 else COMPLEX
    return KeyGenerator(record_key_fields=keys, partition_fields=(), key_generator_class=kind)


def _rows(*rows: tuple[object, ...]) -> pa.Table:
    names = _KINDS.names
    return pa.Table.from_pylist([dict(zip(names, r, strict=True)) for r in rows], schema=_KINDS)


def test_each_failed_row_has_its_key_and_first_cause():
    rows = _rows(("a", 1, 1, 1), ("b", 1, 2**40, 1), ("", 1, 2**40, None), ("c", 1, 1, None))
    found = find_failed(rows, _generator("id"), _SCHEMA, ("ts",))
    assert found is not None
    assert found.is_failed.tolist() == [False, True, True, True]
    records = found.records(rows).to_pylist()
    assert [(each["record_key"], each["cause"]) for each in records] == [
        ("b", "column n holds a value that does not fit int32"),
        (None, "no record key: id null or empty"),
        ("c", "no ordering value: ts null"),
    ]
    assert json.loads(records[0]["row"]) == {"id": "b", "sub": 1, "n": 2**40, "ts": 1}


def test_a_row_whose_path_is_no_date_has_failed():
    options = {
        "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
        "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
        "hoodie.keygen.timebased.output.dateformat": "yyyy",
    }
    generator = KeyGenerator(
        record_key_fields=("sub",),
        partition_fields=("id",),
        key_generator_class=TIMESTAMP,
        timestamps=TimestampPath(config=TimestampConfig.from_options(options), this_year=2026),
    )
    rows = _rows(("2024-01-05", 1, 1, 1), ("soon", 2, 1, 1))
    found = find_failed(rows, generator, _SCHEMA, ())
    assert found is not None
    (record,) = found.records(rows).to_pylist()
    assert record["record_key"] == "2"
    assert record["cause"] == "no partition path: id is not in the input format"


def test_rows_that_can_be_written_are_none():
    assert find_failed(_rows(("a", 1, 1, 1)), _generator("id"), _SCHEMA, ()) is None
    # Where only keys count, values do not.
    rows = _rows(("a", None, 2**40, None))
    assert find_failed(rows, _generator("id"), pa.schema([]), ()) is None


def test_a_field_of_a_struct_can_be_the_key():
    rows = pa.table({"s": pa.array([{"k": "a"}, {"k": ""}, None])})
    found = find_failed(rows, _generator("s.k"), pa.schema([]), ())
    assert found is not None
    assert found.is_failed.tolist() == [False, True, True]


_VALUES = st.tuples(
    st.sampled_from(["a", "b", "", None]),
    st.sampled_from([1, None]),
    st.sampled_from([1, 2**31, None]),
    st.sampled_from([1, None]),
)


@given(st.lists(_VALUES, max_size=8))
def test_failed_rows_are_those_that_a_loop_finds(values):
    found = find_failed(_rows(*values), _generator("id", "sub"), _SCHEMA, ("ts",))
    expected = [
        (not key and sub is None) or ts is None or (n is not None and n >= 2**31)
        for key, sub, n, ts in values
    ]
    mask = np.zeros(len(values), dtype=bool) if found is None else found.is_failed
    assert mask.tolist() == expected


def test_only_files_that_count_are_kept(tmp_path: Path):
    rows = _rows((None, 1, 1, 1))
    found = find_failed(rows, _generator("id"), _SCHEMA, ())
    assert found is not None
    storage = open_storage(str(tmp_path))
    names = []
    for instant, attempt in (("2", 0), ("2", 1), ("1", 0)):
        task = TaskIdentity(partition_id=0, stage_id=1, attempt_id=attempt)
        with FailedFile(storage, instant, task) as file:
            assert file.name is None
            file.write(found.records(rows))
            file.write(found.records(rows))
        names.append(file.name)
    keep_saved(storage, "2", [names[1]])
    assert {file.name for file in tmp_path.iterdir()} == {names[1], names[2]}
    saved = pq.read_table(tmp_path / str(names[1]))
    assert saved.column_names == ["record_key", "cause", "instant", "row"]
    assert saved["instant"].to_pylist() == ["2", "2"]


def test_a_task_without_failures_makes_no_file(tmp_path: Path):
    task = TaskIdentity(partition_id=0, stage_id=1, attempt_id=0)
    with FailedFile(open_storage(str(tmp_path)), "1", task) as file:
        pass
    assert file.name is None
    assert list(tmp_path.iterdir()) == []
