import pyarrow.parquet as pq
import pytest

from pyhudi.basefile.footer import FooterMetadata, read_footer
from pyhudi.errors import CorruptTableError
from tests.support.golden import golden_table


def test_footer_of_hudi_is_made_again_from_what_was_read():
    for path in golden_table("v6_cow_basic").glob("*/*.parquet"):
        pairs = pq.read_metadata(path).metadata
        stored = {key.decode(): value.decode() for key, value in pairs.items()}
        assert read_footer(pairs).entries() == stored


def test_simple_filter_goes_without_its_type():
    entries = FooterMetadata(bloom_text="x", bloom_type_code="SIMPLE").entries()
    assert "hoodie_bloom_filter_type_code" not in entries
    found = read_footer({key.encode(): value.encode() for key, value in entries.items()})
    assert found.bloom_type_code == "SIMPLE"


def test_filter_under_the_old_name_is_found():
    assert read_footer({b"com.uber.hoodie.bloomfilter": b"x"}).bloom_text == "x"


@pytest.mark.parametrize("pairs", [None, {}, {b"org.apache.spark.version": b"3.5.5"}])
def test_file_without_entries_of_hudi_has_an_empty_footer(pairs):
    assert read_footer(pairs) == FooterMetadata()
    assert read_footer(pairs).bloom_filter() is None


def test_entry_that_is_no_text_is_corrupt():
    with pytest.raises(CorruptTableError, match="hoodie_min_record_key"):
        read_footer({b"hoodie_min_record_key": b"\xff"})
