"""Record keys that a partition holds more than once."""

import numpy as np
import pyarrow as pa

from pyhudi.cli.validation.keys import Hashes, hashes_of, repeated_keys


def compared(groups: dict[str, list[str]], **hashes: Hashes):
    """What is found in file groups with these keys, and which of them were read again."""
    read: list[str] = []

    def keys_of(name: str):
        read.append(name)
        return iter([pa.chunked_array([pa.array(groups[name], pa.string())])])

    found = {name: hashes.get(name, hashes_of(keys_of(name))) for name in groups}
    read.clear()
    return repeated_keys(found, keys_of), read


def test_nothing_is_read_again_where_no_hash_comes_twice() -> None:
    assert compared({"f": ["a", "b"], "g": ["c"], "h": []}) == (None, [])


def test_a_key_in_two_file_groups_is_told_with_both() -> None:
    found, read = compared({"f": ["a", "b"], "g": ["c", "b"], "h": ["d"]})
    assert found is not None
    assert (found.count, found.examples, found.places) == (1, ("b",), ("f", "g"))
    assert read == ["f", "g"]


def test_a_key_twice_in_one_file_group_is_told_with_that() -> None:
    found, _ = compared({"f": ["a", "b", "a", "a"]})
    assert found is not None
    assert (found.count, found.places) == (1, ("f",))


def test_keys_that_only_share_their_hash_are_different() -> None:
    same = np.array([7], dtype=np.uint64)
    assert compared({"f": ["a"], "g": ["b"]}, f=same, g=same)[0] is None


def test_of_many_keys_some_are_told() -> None:
    keys = [f"k{n}" for n in range(100)]
    found, _ = compared({"f": keys, "g": keys})
    assert found is not None
    assert (found.count, len(found.examples)) == (100, 3)
