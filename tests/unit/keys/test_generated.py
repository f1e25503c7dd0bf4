import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.keys.generated import generated_keys, row_numbers
from tests.support.golden import golden_table


def test_a_key_is_the_instant_the_task_and_the_row_within_the_task() -> None:
    places = row_numbers(3, 10, 2)
    assert places.to_pylist() == ["3_10", "3_11"]
    keys = generated_keys("20260102030405678", pa.chunked_array([places]))
    assert keys.to_pylist() == ["20260102030405678_3_10", "20260102030405678_3_11"]


def test_keys_that_hudi_generated_have_the_same_parts() -> None:
    for file in golden_table("v6_cow_auto_keys").glob("*/*.parquet"):
        rows = pq.ParquetFile(file).read(["_hoodie_commit_time", "_hoodie_record_key"])
        for instant, key in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            _, task, row = key.split("_")
            assert generated_keys(instant, row_numbers(int(task), int(row), 1)).to_pylist() == [key]
