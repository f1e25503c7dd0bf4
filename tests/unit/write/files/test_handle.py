"""The meta columns of files: filled, filled with generated keys, or empty."""

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.config.options.keygen import SIMPLE
from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.simple import KeyLookup, KeyPiece, Sought, find_keys
from pyhudi.keys.generators import KeyGenerator
from pyhudi.schema.metafields import COMMIT_TIME, META_FIELDS, RECORD_KEY
from pyhudi.write.files.merge import merge_file
from tests.support.memory import MemoryStorage
from tests.support.tasks import create_file, file_of, incoming, job_on, stored, task

FIRST, SECOND = "20260101000000000", "20260102000000000"
GENERATOR = KeyGenerator(
    record_key_fields=("id",), partition_fields=("part",), key_generator_class=SIMPLE
)
BARE = {"virtual_keys": GENERATOR, "bloom": None}


def bare_file(storage: MemoryStorage) -> BaseFile:
    rows = incoming({"a": (1, "old"), "b": (1, "old"), "c": (1, "old")})
    return file_of(create_file(job_on(storage, FIRST, **BARE), rows))


def test_files_without_meta_columns_have_them_null_and_say_nothing_of_keys() -> None:
    storage = MemoryStorage()
    file = bare_file(storage)
    rows = stored(storage, file.path)
    assert rows.column_names[:5] == list(META_FIELDS)
    assert all(rows[name].null_count == 3 for name in META_FIELDS)
    assert rows["id"].to_pylist() == ["a", "b", "c"]
    footer = pq.read_metadata(pa.BufferReader(storage.files[file.path])).metadata
    assert not [key for key in footer if b"bloom" in key or b"record_key" in key]


def test_rows_without_meta_columns_are_merged_by_what_their_keys_are_made_of() -> None:
    storage = MemoryStorage()
    file = bare_file(storage)
    changes = incoming({"b": (2, "new"), "d": (1, "new"), "a": (0, "late")})
    stat = merge_file(job_on(storage, SECOND, **BARE), task(), file, changes)
    assert (stat.num_update_writes, stat.num_inserts, stat.num_writes) == (1, 1, 4)
    rows = stored(storage, stat.path)
    assert all(rows[name].null_count == 4 for name in META_FIELDS)
    found = dict(zip(rows["id"].to_pylist(), rows["value"].to_pylist(), strict=True))
    assert found == {"a": "old", "b": "new", "c": "old", "d": "new"}


def test_keys_of_files_that_keep_none_are_found() -> None:
    storage = MemoryStorage()
    file = bare_file(storage)
    keys = pa.array(["x", "c", "a"])
    piece = KeyPiece(piece_id=1, keys=keys, min_key="a", max_key="x")
    lookup = KeyLookup(virtual_keys=GENERATOR)
    (hit,) = find_keys(storage, file, Sought([piece]), lookup)
    assert hit.positions.tolist() == [1, 2]


def test_generated_keys_begin_with_the_instant_that_wrote_the_row() -> None:
    storage = MemoryStorage()
    generated = {"generates_keys": True, "combine_batch": False}
    rows = incoming({"0_0": (1, "x"), "0_1": (1, "y")})
    first = file_of(create_file(job_on(storage, FIRST, **generated), rows))
    job = job_on(storage, SECOND, **generated, is_concatenating=True)
    stat = merge_file(job, task(), first, rows)
    found = stored(storage, stat.path)
    keys = [f"{instant}_0_{number}" for instant in (FIRST, SECOND) for number in (0, 1)]
    assert found[RECORD_KEY].to_pylist() == keys
    assert found[COMMIT_TIME].to_pylist() == [FIRST, FIRST, SECOND, SECOND]
    footer = pq.read_metadata(pa.BufferReader(storage.files[stat.path or ""])).metadata
    assert footer[b"hoodie_max_record_key"].decode() == f"{SECOND}_0_1"
