"""Partition columns that lie in no file."""

import pytest

from pyhudi.errors import SchemaError
from pyhudi.table.schema import with_partition_columns

ID = {"name": "id", "type": ["null", "long"], "default": None}
P = {"name": "p", "type": ["null", "string"], "default": None}


def record(*fields):
    return {"type": "record", "name": "t", "fields": list(fields)}


def test_dropped_partition_columns_come_last_as_strings() -> None:
    assert with_partition_columns(record(ID), ("p",)) == record(ID, P)


def test_partition_columns_that_are_there_stay_as_they_are() -> None:
    assert with_partition_columns(record(P, ID), ("p",)) == record(P, ID)


def test_some_dropped_and_some_not_is_an_error_that_names_them() -> None:
    with pytest.raises(SchemaError, match=r"columns q are not in .*while p are"):
        with_partition_columns(record(P, ID), ("p", "q"))
