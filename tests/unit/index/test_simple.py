"""The lookup of keys in a file, held against sets of keys."""

from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import CorruptTableError, StorageError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.index.simple import KeyLookup, KeyPiece, Sought, find_keys
from pyhudi.keys import key_positions as key_places
from pyhudi.write.files.create import create_files
from tests.support.memory import MemoryStorage
from tests.support.tasks import incoming, job_on, task

KEYS = st.text(alphabet=["a", "b", "é", "中", "\uffff", "\U0001f600", "0"], min_size=1, max_size=3)


def piece(piece_id: int, keys: list[str]) -> KeyPiece:
    array = pa.array(keys, pa.string())
    return KeyPiece(piece_id=piece_id, keys=array, min_key=min(keys), max_key=max(keys))


def file_of(storage: MemoryStorage, keys: set[str]) -> BaseFile:
    rows = incoming(dict.fromkeys(sorted(keys), (0, "")))
    job = job_on(storage, "20260102030405678")
    (stat,) = create_files(job, task(), partition="p", file_id="f-0", rows=rows)
    return found(stat.path or "")


def leave_the_footer(storage: MemoryStorage, file: BaseFile) -> None:
    """Spoil all of a file but what opens it."""
    whole = storage.files[file.path]
    footer_bytes = int.from_bytes(whole[-8:-4], "little") + 8
    spoiled = b"\xff" * (len(whole) - footer_bytes - 4)
    storage.put(file.path, b"PAR1" + spoiled + whole[-footer_bytes:])


def found(path: str) -> BaseFile:
    file = BaseFile.of(*path.rsplit("/", 1), 1)
    assert file is not None
    return file


def hits(
    storage: MemoryStorage, file: BaseFile, *pieces: KeyPiece, sought: Sought | None = None
) -> list[tuple[int, list[int]]]:
    """The hits in a file, each as the id of its piece and the positions."""
    found = find_keys(storage, file, sought or Sought(pieces), KeyLookup())
    return [(hit.piece_id, hit.positions.tolist()) for hit in found]


WAYS = pytest.mark.parametrize("many_keys", [0, 1 << 30], ids=["by_hashes", "by_arrow"])


@WAYS
@settings(max_examples=80)
@given(
    stored=st.sets(KEYS, min_size=1),
    batches=st.lists(st.lists(KEYS, min_size=1, max_size=40), min_size=1, max_size=4),
)
def test_every_row_of_a_stored_key_is_hit_and_no_other(many_keys, stored, batches):
    storage = MemoryStorage()
    file = file_of(storage, stored)
    pieces = [piece(7 * number, keys) for number, keys in enumerate(batches)]
    with patch.object(key_places, "MANY_KEYS", many_keys):
        found = hits(storage, file, *pieces)
    expected = {
        7 * number: [at for at, key in enumerate(keys) if key in stored]
        for number, keys in enumerate(batches)
    }
    assert dict(found) == {number: places for number, places in expected.items() if places}
    assert len(found) == len(dict(found))


@WAYS
def test_a_key_that_comes_very_often_is_hit_each_time(many_keys):
    storage = MemoryStorage()
    file = file_of(storage, {"a", "b"})
    keys = ["a"] * 1000 + ["c"] * 1000 + ["b"]
    with patch.object(key_places, "MANY_KEYS", many_keys):
        assert hits(storage, file, piece(0, keys)) == [(0, [*range(1000), 2000])]


@WAYS
def test_pieces_are_looked_for_in_file_after_file(many_keys):
    """Of the second file, and of the third, other pieces can be stored than of the one before."""
    stored = [{"a", "f"}, {"k", "p"}, {"a", "z"}, {"b", "y"}]
    storages = [MemoryStorage() for _ in stored]
    files = [file_of(each, keys) for each, keys in zip(storages, stored, strict=True)]
    sought = Sought([piece(0, ["f", "a"]), piece(1, ["p", "b"]), piece(2, ["z", "y", "k"])])
    with patch.object(key_places, "MANY_KEYS", many_keys):
        first, second, third, fourth = (
            hits(storage, file, sought=sought)
            for storage, file in zip(storages, files, strict=True)
        )
    assert (first, second) == ([(0, [0, 1])], [(1, [0]), (2, [2])])
    assert (third, fourth) == ([(0, [1]), (2, [0])], [(1, [1]), (2, [1])])


@pytest.mark.parametrize("sought", ["\uffff", "\U0001f600"])
def test_no_range_rules_a_file_out_where_orders_differ(sought):
    """In UTF-16, by which files state their range, U+1F600 is below U+FFFF."""
    storage = MemoryStorage()
    file = file_of(storage, {"\uffff", "\U0001f600"})
    assert hits(storage, file, piece(0, [sought])) == [(0, [0])]


def test_pieces_outside_the_range_of_a_file_are_not_looked_up():
    """Of such a file not even the key column is read: here it cannot be."""
    storage = MemoryStorage()
    file = file_of(storage, {f"m{number}" for number in range(50)})
    leave_the_footer(storage, file)
    assert hits(storage, file, piece(0, ["a", "b"]), piece(1, ["x"])) == []
    with pytest.raises(StorageError, match="page header"):
        hits(storage, file, piece(0, ["m1"]))


def test_a_file_that_cannot_be_read_is_named():
    file = found("p/f-0_0-0-0_20260102030405678.parquet")
    storage = MemoryStorage({file.path: b"no parquet file"})
    with pytest.raises(CorruptTableError, match=r"p/f-0_0-0-0_20260102030405678\.parquet"):
        hits(storage, file, piece(0, ["a"]))


def stored_rows(file_keys: list[str], sought: list[str], **lookup: bool) -> list[int]:
    storage = MemoryStorage()
    rows = pa.concat_tables([incoming({key: (0, "")}) for key in file_keys])
    job = job_on(storage, "20260102030405678", combine_batch=False)
    (stat,) = create_files(job, task(), partition="p", file_id="f-0", rows=rows)
    sought_keys = Sought([piece(0, sought)])
    hits = find_keys(storage, found(stat.path or ""), sought_keys, KeyLookup(**lookup))
    return [row for hit in hits for row in hit.stored_rows.tolist()]


@WAYS
@pytest.mark.parametrize("asks_filters", [False, True])
def test_the_row_of_each_key_is_told_and_none_of_a_key_that_is_stored_twice(
    many_keys, asks_filters
):
    file_keys = ["c", "a", "twice", "b", "twice", "d"]
    sought = ["a", "new", "c", "twice", "a", "d", *(f"x{number}" for number in range(50))]
    how = {"asks_rows": True, "asks_filters": asks_filters}
    with patch.object(key_places, "MANY_KEYS", many_keys):
        assert stored_rows(file_keys, sought, **how) == [1, 0, key_places.SEVERAL, 1, 5]
        assert stored_rows(file_keys, sought, asks_filters=asks_filters) == []
