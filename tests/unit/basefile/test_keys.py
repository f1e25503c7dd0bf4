import pyarrow as pa
import pytest

from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.keys import KeyRecord
from pyhudi.errors import RecordKeyError

PARAMETERS = BloomParameters(num_entries=50, max_entries=100)


def rows(*keys: str | None) -> pa.Table:
    return pa.table({"_hoodie_record_key": pa.array(keys, pa.string())})


def test_the_footer_tells_filter_and_range_of_all_keys() -> None:
    record = KeyRecord(PARAMETERS, None)
    record.add(rows("m", "b"), is_kept=False)
    record.add(pa.table({"_hoodie_record_key": pa.array(["z"]).dictionary_encode()}), is_kept=True)
    footer = record.footer("{}")
    assert (footer.min_key, footer.max_key, footer.avro_schema) == ("b", "z", "{}")
    found = footer.bloom_filter()
    assert found is not None
    assert found.contains(pa.array(["m", "b", "z", "q"])).to_pylist() == [True, True, True, False]
    assert record.text_bytes > 0


def test_keys_of_the_previous_filter_are_stored_as_they_are() -> None:
    """A file that has a row without key can still be rewritten; no filter is told of it."""
    first = KeyRecord(PARAMETERS, None)
    first.add(rows("a", "b"), is_kept=False)
    second = KeyRecord(PARAMETERS, first.footer("{}").bloom_filter())
    second.add(rows("b", None), is_kept=True)
    assert second.footer("{}").min_key == "b"
    with pytest.raises(RecordKeyError):
        second.add(rows("c", None), is_kept=False)
    with pytest.raises(RecordKeyError):
        KeyRecord(PARAMETERS, None).add(rows("b", None), is_kept=True)


def test_without_a_filter_keys_are_not_looked_at() -> None:
    record = KeyRecord(None, None)
    record.add(pa.table({"id": [1]}), is_kept=False)
    assert record.footer("{}") == FooterMetadata(avro_schema="{}")
    assert record.text_bytes == 0


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(RecordKeyError):
        KeyRecord(PARAMETERS, None).add(rows("a", ""), is_kept=False)
