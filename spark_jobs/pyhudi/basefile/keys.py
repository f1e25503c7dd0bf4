"""What a base file's footer says of the record keys in it, gathered while rows are written."""

from __future__ import annotations

import pyarrow as pa

from pyhudi.basefile.bloom.filter import BloomBuilder, BloomFilter, BloomParameters
from pyhudi.basefile.bloom.murmur import refuse_empty
from pyhudi.basefile.encoding import joined
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.key_range import KeyRange
from pyhudi.schema.columns import one_array
from pyhudi.schema.metafields import RECORD_KEY


class KeyRecord:
    """The bloom filter and the range of the keys so far; nothing without ``bloom``.

    Keys wait for ``take_in``, since many are hashed at once faster than few and few again.

    Source: HoodieBloomFilterWriteSupport, HoodieAvroOrcWriter, Hudi 0.15.
    """

    def __init__(self, bloom: BloomParameters | None, previous: BloomFilter | None) -> None:
        self._bloom = None if bloom is None else BloomBuilder(bloom, inherited=previous)
        self._range = KeyRange()
        self._fresh: list[pa.Array] = []
        self._kept: list[pa.Array] = []

    @property
    def text_bytes(self) -> int:
        """About how many bytes of the footer the keys take."""
        return 0 if self._bloom is None else self._bloom.text_bytes

    def add(self, rows: pa.Table, *, is_kept: bool) -> None:
        """Let the keys of the next rows wait; ``is_kept`` says that the previous filter has them.

        Raises:
            RecordKeyError: a null or an empty record key, which no filter can hold.
        """
        if self._bloom is None:
            return
        keys = one_array(joined([rows.column(RECORD_KEY)], pa.string()))
        if is_kept and self._bloom.inherits:
            self._kept.append(keys)
            return
        refuse_empty(keys)
        self._fresh.append(keys)

    def take_in(self) -> None:
        """Take in the keys that wait, which refer to the rows they came with until then."""
        if self._bloom is None:
            return
        if self._fresh:
            fresh = pa.concat_arrays(self._fresh)
            self._bloom.add(fresh)
            self._range.add(fresh)
        for keys in self._kept:
            self._range.add(keys)
        self._fresh, self._kept = [], []

    def footer(self, avro_schema: str) -> FooterMetadata:
        """Hudi's entries for the footer."""
        self.take_in()
        if self._bloom is None:
            return FooterMetadata(avro_schema=avro_schema)
        return FooterMetadata(
            bloom_text=self._bloom.to_text(),
            bloom_type_code=self._bloom.type_code,
            min_key=self._range.min_key,
            max_key=self._range.max_key,
            avro_schema=avro_schema,
        )
