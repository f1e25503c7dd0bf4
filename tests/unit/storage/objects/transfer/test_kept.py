"""Files that are kept: as many as there is room for, the latest ones."""

from pyhudi.storage.objects.transfer.kept import KeptFiles


def test_those_asked_for_longest_ago_make_room() -> None:
    kept = KeptFiles(10)
    for name in "abc":
        kept.put(name, b"1234")
        kept.get("a")
    assert [kept.get(name) for name in "abc"] == [b"1234", None, b"1234"]


def test_a_file_that_is_too_large_is_not_kept_and_one_that_is_kept_anew_counts_once() -> None:
    kept = KeptFiles(10)
    kept.put("large", bytes(11))
    assert kept.get("large") is None
    for _ in range(5):
        kept.put("a", bytes(6))
    kept.put("b", bytes(4))
    assert kept.get("a") == bytes(6)
    assert kept.get("b") == bytes(4)
