import pytest

from pyhudi.errors import CorruptTableError
from pyhudi.schema.codec import read_container, write_container

_SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [
        {"name": "a", "type": ["null", "string"], "default": None},
        {"name": "b", "type": {"type": "map", "values": "long"}},
    ],
}


def test_record_comes_back_from_its_container():
    record = {"a": "ü", "b": {"x": 1}}
    data = write_container(_SCHEMA, record)
    assert data.startswith(b"Obj\x01")
    assert read_container(data) == [record]


@pytest.mark.parametrize("length", [0, 3, 20, -3])
def test_container_cut_short_is_corrupt(length):
    data = write_container(_SCHEMA, {"a": "x" * 50, "b": {}})
    with pytest.raises(CorruptTableError):
        read_container(data[:length])
