"""What a base file's footer says of the record keys in it, gathered while rows are written."""

from __future__ import annotations

import pyarrow as pa

from pyhudi.basefile.bloom import BloomBuilder, BloomFilter, BloomParameters
from pyhudi.basefile.encoding import joined
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.key_range import KeyRange
from pyhudi.schema.metafields import RECORD_KEY


class KeyRecord:
    """The bloom filter and the range of the keys so far; nothing without ``bloom``.

    Source: HoodieBloomFilterWriteSupport, HoodieAvroOrcWriter, Hudi 0.15.
    """

    def __init__(self, bloom: BloomParameters | None, previous: BloomFilter | None) -> None:
        self._bloom = None if bloom is None else BloomBuilder(bloom, inherited=previous)
        self._range = KeyRange()

    @property
    def text_bytes(self) -> int:
        """About how many bytes of the footer the keys take."""
        return 0 if self._bloom is None else self._bloom.text_bytes

    def add(self, rows: pa.Table, *, is_kept: bool) -> None:
        """Take in the keys of the next rows; ``is_kept`` says that the previous filter has them.

        Raises:
            RecordKeyError: a null or an empty record key.
        """
        if self._bloom is None:
            return
        keys = joined([rows.column(RECORD_KEY)], pa.string())
        if not (is_kept and self._bloom.inherits):
            self._bloom.add(keys)
        self._range.add(keys)

    def footer(self, avro_schema: str) -> FooterMetadata:
        """Hudi's entries for the footer."""
        if self._bloom is None:
            return FooterMetadata(avro_schema=avro_schema)
        return FooterMetadata(
            bloom_text=self._bloom.to_text(),
            bloom_type_code=self._bloom.type_code,
            min_key=self._range.min_key,
            max_key=self._range.max_key,
            avro_schema=avro_schema,
        )
