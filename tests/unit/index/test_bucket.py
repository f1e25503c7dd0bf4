"""The bucket of a key, held against Hudi's BucketIdentifier and where Hudi put rows."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.filegroup.names import hash_bucket_of
from pyhudi.index.bucket import BucketHash, hash_that_fits
from tests.support.golden import golden_table
from tests.unit.keys.test_java_hash import plain_hash

# Key, columns that count, and the bucket of eight in Hudi 1.x and in 0.15.
VECTORS = [
    ("1", "id", 0, 0),
    ("key1", "id", 1, 1),
    ("id:1,name:x", "id,name", 0, 0),
    ("id:1,name:x", "id", 0, 0),
    ("id:__null__,name:x", "id", 7, 7),
    ("id:__null__,name:x", "id,name", 1, 1),
    ("name:x,id:1", "id", 0, 0),
    ("name:x,id:1", "id,name", 2, 2),
    ("uuid-a,b", "id", 4, 4),
    ("ts:2020-01-01 00:00:00,id:5", "id", 4, 4),
    ("id:1", "id", 1, 0),
    ("a:b", "id", 0, 1),
]


def hashed(fields: str = "id", *, buckets: int = 8, is_old: bool = False) -> BucketHash:
    return BucketHash(num_buckets=buckets, fields=tuple(fields.split(",")), is_old=is_old)


@pytest.mark.parametrize(("key", "fields", "new", "old"), VECTORS)
def test_a_key_has_the_bucket_that_hudi_gives_it(key, fields, new, old):
    keys = pa.array([key])
    assert hashed(fields).buckets_of(keys).tolist() == [new]
    assert hashed(fields, is_old=True).buckets_of(keys).tolist() == [old]


def test_keys_of_all_kinds_in_one_column_have_the_buckets_they_have_alone():
    keys = pa.array([key for key, fields, _, _ in VECTORS if fields == "id"])
    assert hashed().buckets_of(keys).tolist() == [v[2] for v in VECTORS if v[1] == "id"]
    old = hashed(is_old=True).buckets_of(pa.chunked_array([keys[:4], keys[4:]]))
    assert old.tolist() == [v[3] for v in VECTORS if v[1] == "id"]


def plain_values(key: str, fields: tuple[str, ...]) -> list[str | None]:
    """The values of a key's pairs, found one character after another."""
    if "," not in key or ":" not in key:
        return [key]
    values, at = [], 0
    while at < len(key):
        colon = key.index(":", at)
        name, end = key[at:colon], colon + 1
        while end < len(key) and not (key[end] == "," and _names_next(key[end + 1 :])):
            end += 1
        if name in fields:
            value = key[colon + 1 : end]
            values.append({"__null__": None, "__empty__": ""}.get(value, value))
        at = end + 1
    return values or [key]


def _names_next(rest: str) -> bool:
    colon, comma = rest.find(":"), rest.find(",")
    return colon >= 0 and (comma < 0 or colon < comma)


def plain_bucket(key: str, fields: tuple[str, ...], buckets: int) -> int:
    found = 1
    for value in plain_values(key, fields):
        found = (31 * found + plain_hash(value)) % 2**32
    return found % 2**31 % buckets


VALUES = st.text(alphabet="ab,:é\U0001f600 0", max_size=6)
COMPLEX = st.builds(
    lambda first, second: f"id:{first or '__empty__'},sub:{second or '__null__'}", VALUES, VALUES
)


@given(st.lists(st.one_of(COMPLEX, st.text(alphabet="aé0", min_size=1)), max_size=12))
def test_complex_keys_are_taken_apart_as_by_hand(keys):
    for fields in ("id", "sub", "sub,id"):
        one = hashed(fields, buckets=97)
        expected = [plain_bucket(key, one.fields, 97) for key in keys]
        assert one.buckets_of(pa.array(keys, pa.string())).tolist() == expected


def test_keys_of_hudis_tables_are_in_the_bucket_their_file_is_named_after():
    files = sorted(golden_table("v6_mor_bucket").rglob("*-0_*.parquet"))
    samples = []
    for path in files:
        keys = pq.read_table(path, columns=["_hoodie_record_key"]).column(0)
        assert set(hashed(buckets=3).buckets_of(keys).tolist()) == {hash_bucket_of(path.name)}
        samples += [(key.as_py(), hash_bucket_of(path.name)) for key in keys]
    assert len(files) == 3
    hashes = [hashed(buckets=4), hashed(buckets=3), hashed(buckets=3, is_old=True)]
    assert hash_that_fits(hashes, samples) == 1
    assert hash_that_fits(hashes[:1], samples) is None
    assert hash_that_fits(hashes, []) == 0
