"""What footers say of keys, and that files which cannot hold any are not read."""

import pyarrow as pa
import pytest

from pyhudi.basefile.bloom.filter import BloomBuilder, BloomParameters
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.errors import StorageError
from pyhudi.index.bloom import may_hold
from pyhudi.index.simple import KeyLookup, Sought, find_keys
from tests.support.memory import MemoryStorage
from tests.unit.index.test_simple import file_of, leave_the_footer, piece

BLOOM = KeyLookup(asks_filters=True)


def footer_of(keys: list[str], kind: str = "DYNAMIC_V0") -> FooterMetadata:
    builder = BloomBuilder(BloomParameters(num_entries=100, fpp=1e-3, max_entries=300, type=kind))
    builder.add(pa.array(keys))
    return FooterMetadata(bloom_text=builder.to_text(), bloom_type_code=kind)


@pytest.mark.parametrize("kind", ["SIMPLE", "DYNAMIC_V0"])
def test_no_key_of_a_file_is_denied_and_few_others_pass(kind: str) -> None:
    keys = [f"key-{number}" for number in range(250)]
    footer = footer_of(keys, kind)
    assert may_hold(footer, pa.array(keys)).false_count == 0
    others = pa.array([f"other-{number}" for number in range(5000)])
    assert may_hold(footer, others).equals(footer.bloom_filter().contains(others))
    assert may_hold(footer, pa.array([], pa.string())).to_pylist() == []


def test_a_file_without_a_filter_may_hold_any_key() -> None:
    assert may_hold(FooterMetadata(), pa.array(["a", "b"])).to_pylist() == [True, True]


def test_of_a_file_whose_filter_denies_every_key_only_the_footer_is_read() -> None:
    storage = MemoryStorage()
    file = file_of(storage, {f"m{number}" for number in range(0, 100, 2)})
    leave_the_footer(storage, file)
    absent = [piece(0, ["m1", "m33"]), piece(1, ["m51x"])]
    assert list(find_keys(storage, file, Sought(absent), BLOOM)) == []
    with pytest.raises(StorageError, match="page header"):
        list(find_keys(storage, file, Sought([piece(0, ["m1", "m2"])]), BLOOM))
    # Without ranges the filter alone keeps the file closed.
    unpruned = KeyLookup(asks_filters=True, prunes_by_ranges=False)
    assert list(find_keys(storage, file, Sought([piece(0, ["a"])]), unpruned)) == []
