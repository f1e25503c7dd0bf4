"""How stored keys are found, and what becomes of a record whose partition has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting
from pyhudi.errors import UnsupportedError


class IndexType(Enum):
    """How stored keys are found.

    Source: HoodieIndex.IndexType, Hudi 0.15 and 1.1.
    """

    SIMPLE = "SIMPLE"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    BLOOM = "BLOOM"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    BUCKET = "BUCKET"

    @property
    def is_global(self) -> bool:
        """Whether a key names one record of the whole table, not of its partition."""
        return self in (IndexType.GLOBAL_SIMPLE, IndexType.GLOBAL_BLOOM)

    @property
    def reads_bloom_filters(self) -> bool:
        """Whether footers are asked before the keys of a file are read."""
        return self in (IndexType.BLOOM, IndexType.GLOBAL_BLOOM)


_OTHERS = (
    "inmemory",
    "record_index",
    "global_record_level_index",
    "record_level_index",
    "flink_state",
    "hbase",
)


def _engine(text: str) -> str:
    if text.upper() == "CONSISTENT_HASHING":
        raise UnsupportedError(
            f"{text!r}, which is not supported; the bucket index has a fixed number of buckets "
            "here: SIMPLE"
        )
    if text.upper() != "SIMPLE":
        raise ValueError("SIMPLE")
    return "SIMPLE"


def _hash_fields(text: str) -> tuple[str, ...] | None:
    return option.parse_fields(text) or None


INDEX_TYPE = declare(
    "hoodie.index.type", option.parse_enum(IndexType, not_done=_OTHERS), default=IndexType.SIMPLE
)
"""how stored keys are found"""
SIMPLE_MOVES = declare("hoodie.simple.index.update.partition.path", option.parse_bool, default=True)
"""with GLOBAL_SIMPLE, a record whose partition has changed moves there; otherwise it is updated
where it is"""
BLOOM_MOVES = declare("hoodie.bloom.index.update.partition.path", option.parse_bool, default=True)
"""with GLOBAL_BLOOM, a record whose partition has changed moves there; otherwise it is updated
where it is"""
PRUNE_BY_RANGES = declare("hoodie.bloom.index.prune.by.ranges", option.parse_bool, default=True)
"""with BLOOM and GLOBAL_BLOOM, files whose keys lie elsewhere are left out before their filters are
asked"""
NUM_BUCKETS = declare("hoodie.bucket.index.num.buckets", option.parse_positive, default=256)
"""with BUCKET, file groups of a partition; a table keeps the number it began with"""
HASH_FIELDS = declare("hoodie.bucket.index.hash.field", _hash_fields, default=None)
"""with BUCKET, the columns of the record key that choose the bucket; all of them when absent"""
BUCKET_ENGINE = declare("hoodie.index.bucket.engine", _engine, default="SIMPLE")
"""with BUCKET, how buckets are chosen; CONSISTENT_HASHING is not supported"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfig:
    """How stored keys are found.

    ``moves_records`` says that a record goes to the partition that its newest row names, which
    only global indexes notice. ``hash_fields`` is None for all columns of the record key.
    """

    index_type: IndexType = setting(INDEX_TYPE)
    moves_records: bool = setting(SIMPLE_MOVES)
    prunes_by_ranges: bool = setting(PRUNE_BY_RANGES)
    num_buckets: int = setting(NUM_BUCKETS)
    hash_fields: tuple[str, ...] | None = setting(HASH_FIELDS)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> IndexConfig:
        """The index that options ask for.

        Raises:
            OptionError: a value that is not allowed.
            UnsupportedError: an index of Hudi's that is not followed here.
        """
        BUCKET_ENGINE.read(options)
        by_bloom = BLOOM_MOVES.read(options)
        found = read_settings(cls, options)
        if found.index_type.reads_bloom_filters:
            return replace(found, moves_records=by_bloom)
        return replace(found, prunes_by_ranges=True)

    @property
    def is_hashed(self) -> bool:
        """Whether the key itself says which file group a record is in."""
        return self.index_type is IndexType.BUCKET
