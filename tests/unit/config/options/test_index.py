"""Options of the indexes."""

import pytest

from pyhudi.config.options.index import IndexConfig, IndexType
from pyhudi.errors import OptionError, UnsupportedError

TYPE = "hoodie.index.type"


@pytest.mark.parametrize("name", [member.value for member in IndexType])
def test_every_index_is_named_as_hudi_names_it(name: str) -> None:
    found = IndexConfig.from_options({TYPE: name.lower()})
    assert found.index_type.value == name
    assert found.moves_records


def test_each_global_index_has_an_option_of_its_own_for_moves() -> None:
    simple = {"hoodie.simple.index.update.partition.path": "false"}
    bloom = {"hoodie.bloom.index.update.partition.path": "false"}
    for name, options in (("GLOBAL_SIMPLE", simple), ("GLOBAL_BLOOM", bloom)):
        assert not IndexConfig.from_options({TYPE: name, **options}).moves_records
    assert IndexConfig.from_options({TYPE: "GLOBAL_SIMPLE", **bloom}).moves_records


def test_only_bloom_indexes_can_leave_ranges_unasked() -> None:
    options = {"hoodie.bloom.index.prune.by.ranges": "false"}
    assert IndexConfig.from_options({TYPE: "SIMPLE", **options}).prunes_by_ranges
    assert not IndexConfig.from_options({TYPE: "BLOOM", **options}).prunes_by_ranges


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (TYPE, "INMEMORY"),
        (TYPE, "RECORD_INDEX"),
        (TYPE, "FLINK_STATE"),
        (TYPE, "HBASE"),
        (TYPE, "GLOBAL_RECORD_LEVEL_INDEX"),
        ("hoodie.index.bucket.engine", "CONSISTENT_HASHING"),
    ],
)
def test_other_indexes_are_refused_by_name(key: str, value: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{key} is '{value}'"):
        IndexConfig.from_options({key: value})


def test_a_number_of_buckets_is_positive() -> None:
    with pytest.raises(OptionError, match=r"hoodie\.bucket\.index\.num\.buckets"):
        IndexConfig.from_options({"hoodie.bucket.index.num.buckets": "0"})
