import pyarrow as pa
import pytest

from pyhudi.errors import RecordKeyError
from pyhudi.keys.record_key import KeyEncoding, record_keys


def texts(*values: str | None) -> pa.StringArray:
    return pa.array(values, pa.string())


def test_a_single_field_is_its_value() -> None:
    keys = record_keys([("id", texts("1", "a:b,c"))], KeyEncoding.VALUE)
    assert keys.to_pylist() == ["1", "a:b,c"]


def test_several_fields_are_named_and_not_escaped() -> None:
    keys = record_keys([("id", texts("k3")), ("sub", texts("0,x:1"))], KeyEncoding.NAMED_VALUES)
    assert keys.to_pylist() == ["id:k3,sub:0,x:1"]
    assert keys.type == pa.string()


def test_null_and_empty_parts_have_placeholders() -> None:
    columns = [("a", texts(None, "", "x")), ("b", texts("1", "2", None))]
    keys = record_keys(columns, KeyEncoding.NAMED_VALUES)
    assert keys.to_pylist() == ["a:__null__,b:1", "a:__empty__,b:2", "a:x,b:__null__"]


@pytest.mark.parametrize("missing", [None, ""])
def test_a_row_without_key_is_refused_with_its_place(missing: str | None) -> None:
    with pytest.raises(RecordKeyError, match=r"2 of 4 rows .* id is null or empty, first in row 1"):
        record_keys([("id", texts("a", missing, "b", missing))], KeyEncoding.VALUE)


def test_a_row_whose_key_fields_are_all_missing_is_refused() -> None:
    columns = [("a", texts("1", None, None)), ("b", texts(None, None, ""))]
    with pytest.raises(RecordKeyError, match=r"2 of 3 rows .* a, b are all null or empty.* row 1"):
        record_keys(columns, KeyEncoding.NAMED_VALUES)


def test_no_rows_give_no_keys() -> None:
    assert record_keys([("a", texts())], KeyEncoding.VALUE).to_pylist() == []
    assert record_keys([("a", texts()), ("b", texts())], KeyEncoding.NAMED_VALUES).to_pylist() == []


def test_a_bare_value_of_two_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="2 record key columns"):
        record_keys([("a", texts("1")), ("b", texts("1"))], KeyEncoding.VALUE)
