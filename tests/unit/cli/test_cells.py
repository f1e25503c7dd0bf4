"""Values as people read them."""

import pytest

from pyhudi.cli.cells import cell, counted
from pyhudi.cli.report import Kind, Value


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0, Kind.SIZE, "0 B"),
        (1023, Kind.SIZE, "1023 B"),
        (1024, Kind.SIZE, "1.0 KiB"),
        ((1 << 20) - 1, Kind.SIZE, "1.0 MiB"),
        (5 << 30, Kind.SIZE, "5.0 GiB"),
        (0.351, Kind.SECONDS, "0.35 s"),
        (59.94, Kind.SECONDS, "59.9 s"),
        (61, Kind.SECONDS, "1m 01s"),
        (3 * 3600 + 5 * 60, Kind.SECONDS, "3h 05m"),
        (9 * 86400 + 4 * 3600, Kind.SECONDS, "9d 04h"),
        (1234567, Kind.COUNT, "1,234,567"),
        (2.5, Kind.RATIO, "2.50"),
        (0.125, Kind.SHARE, "12.5%"),
        ("20260102030405678", Kind.MOMENT, "2026-01-02 03:04:05"),
        ("00000000000001", Kind.MOMENT, "0000-00-00 00:00:01"),
        ({"inserted": 27004, "updated": 0, "deleted": 3}, Kind.CHANGES, "+27,004 -3"),
        ({"inserted": 0, "updated": 0}, Kind.CHANGES, "0"),
        ({"rewritten": 1600}, Kind.CHANGES, "rewritten 1,600"),
        ({"created": 0, "deleted": 1600}, Kind.COUNTS, "1,600 deleted"),
        ({"created": 0}, Kind.COUNTS, "0"),
        (None, Kind.SIZE, "-"),
        ("", Kind.TEXT, "-"),
        ("", Kind.DATA, ""),
        (None, Kind.DATA, "null"),
        (True, Kind.TEXT, "yes"),
        (("id", "part"), Kind.TEXT, "id, part"),
        (["p"] * 20, Kind.TEXT, "p" + ", p" * 19),
        (["p"] * 10_020, Kind.TEXT, "p" + ", p" * 19 + " and 10,000 more"),
        ([1, {"a": None}], Kind.DATA, '[1, {"a": null}]'),
    ],
)
def test_a_value_reads_by_its_kind(value: Value, kind: Kind, text: str) -> None:
    assert cell(value, kind) == text


def test_what_a_terminal_would_obey_is_shown_and_not_obeyed() -> None:
    assert cell("a\x1b[2J\nb\x9b", Kind.DATA) == r"a\x1b[2J\nb\x9b"


def test_things_are_counted_in_their_own_number() -> None:
    assert [counted(n, "file") for n in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
