"""What Hudi keeps in the footer of a base file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyhudi.basefile.bloom import filter as bloom
from pyhudi.errors import CorruptTableError

BLOOM_FILTER: Final = "org.apache.hudi.bloomfilter"
OLD_BLOOM_FILTER: Final = "com.uber.hoodie.bloomfilter"
BLOOM_TYPE_CODE: Final = "hoodie_bloom_filter_type_code"
MIN_RECORD_KEY: Final = "hoodie_min_record_key"
MAX_RECORD_KEY: Final = "hoodie_max_record_key"
AVRO_SCHEMA: Final = "parquet.avro.schema"
ORC_AVRO_SCHEMA: Final = "orc.avro.schema"
WRITER_MODEL: Final = "writer.model.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class FooterMetadata:
    """Hudi's entries of a footer; each is None where the file has none.

    ``bloom_text`` is the filter as stored, ``min_key`` and ``max_key`` the range of the file's
    record keys, ``avro_schema`` the JSON of its schema, meta columns included.
    """

    bloom_text: str | None = None
    bloom_type_code: str | None = None
    min_key: str | None = None
    max_key: str | None = None
    avro_schema: str | None = None

    def bloom_filter(self) -> bloom.BloomFilter | None:
        """The filter over the file's record keys.

        Raises:
            CorruptTableError: the stored text is no filter.
        """
        if self.bloom_text is None:
            return None
        return bloom.parse(self.bloom_text, self.bloom_type_code)

    def entries(self) -> dict[str, str]:
        """The key-value pairs to put into the footer of a Parquet file.

        Source: HoodieAvroWriteSupport, HoodieBloomFilterWriteSupport, Hudi 0.15 (a SIMPLE filter
        goes without its type code).
        """
        return _present(
            {
                **self._key_entries(),
                WRITER_MODEL: None if self.avro_schema is None else "avro",
                AVRO_SCHEMA: self.avro_schema,
            }
        )

    def orc_entries(self) -> dict[str, str]:
        """The key-value pairs to put into the user metadata of an ORC file.

        Source: HoodieOrcWriter of Hudi 0.15, HoodieAvroOrcWriter of 1.1.
        """
        return _present({**self._key_entries(), ORC_AVRO_SCHEMA: self.avro_schema})

    def _key_entries(self) -> dict[str, str | None]:
        code = self.bloom_type_code if self.bloom_type_code != bloom.SIMPLE else None
        return {
            MIN_RECORD_KEY: self.min_key,
            BLOOM_FILTER: self.bloom_text,
            MAX_RECORD_KEY: self.max_key,
            BLOOM_TYPE_CODE: code,
        }


def _present(pairs: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if value is not None}


def read_footer(metadata: Mapping[bytes, bytes] | None) -> FooterMetadata:
    """Pick Hudi's entries out of a footer's key-value pairs.

    Raises:
        CorruptTableError: an entry is not UTF-8.
    """
    pairs = metadata or {}

    def text(key: str) -> str | None:
        value = pairs.get(key.encode())
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError as error:
            raise CorruptTableError(f"the footer entry {key} is not UTF-8: {error}") from error

    bloom_text = text(BLOOM_FILTER) or text(OLD_BLOOM_FILTER)
    code = text(BLOOM_TYPE_CODE)
    return FooterMetadata(
        bloom_text=bloom_text,
        bloom_type_code=(code or bloom.SIMPLE) if bloom_text is not None else None,
        min_key=text(MIN_RECORD_KEY),
        max_key=text(MAX_RECORD_KEY),
        avro_schema=text(AVRO_SCHEMA) or text(ORC_AVRO_SCHEMA),
    )
