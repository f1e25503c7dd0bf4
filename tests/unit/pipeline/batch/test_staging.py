"""What of the source is keyed as it comes."""

import pyarrow as pa

from pyhudi.keys.generators import KeyGenerator
from pyhudi.pipeline.batch.keying import Keying


def test_texts_are_carried_that_neither_keys_nor_paths_nor_ordering_look_at() -> None:
    generator = KeyGenerator(
        record_key_fields=("id",),
        partition_fields=("place.town", "day"),
        key_generator_class="org.apache.hudi.keygen.ComplexKeyGenerator",
    )
    texts = [pa.field(name, pa.string()) for name in ("id", "day", "version", "note")]
    place = pa.field("place", pa.struct([("town", pa.string())]))
    needed = pa.field("needed", pa.string(), nullable=False)
    schema = pa.schema([*texts, place, needed, pa.field("count", pa.int64())])
    keying = Keying(generator=generator, data_schema=schema, ordering_fields=("version",))
    assert keying.carried_texts == ("note",)
