"""The BLOOM index: what a file's footer says about keys before any is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.basefile.footer import FooterMetadata

# Of keys that a full filter does not have, one in 16 passes so many of its hash functions.
_FIRST_HASHES: Final = 4


def may_hold(footer: FooterMetadata, keys: pa.StringArray) -> pa.BooleanArray:
    """Whether a file may hold each key by its bloom filter; a file without one may hold any.

    Most keys that are absent fail the first few hash functions, so the others are computed for
    those alone that pass them.

    Shapes: plain strings without nulls and empty texts; one flag a key.

    Raises:
        CorruptTableError: what the footer has is no filter.
    Source: HoodieKeyLookupHandle.addKey, Hudi 0.15 and 1.1.
    """
    found = footer.bloom_filter()
    if found is None:
        return pa.array([True]).take(pa.array([0] * len(keys), pa.int32()))
    quick = replace(found, hash_count=min(_FIRST_HASHES, found.hash_count))
    passes = quick.contains(keys)
    passing = keys.filter(passes)
    if found.hash_count <= _FIRST_HASHES or not len(passing):
        return passes
    return pc.replace_with_mask(passes, passes, found.contains(passing))
