"""Mergers that users write."""

import pyarrow as pa
import pytest

from pyhudi.errors import OptionError, RequestError
from pyhudi.merge.custom import load_merger, run_merger, with_soft_deletes
from pyhudi.schema.metafields import RECORD_KEY

ROWS = with_soft_deletes(pa.table({RECORD_KEY: ["a", "b"], "n": pa.array([1, 2], pa.int32())}))


class Sum:
    """Adds the numbers, as wider ones."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """The sums."""
        total = [x.as_py() + y.as_py() for x, y in zip(older["n"], newer["n"], strict=True)]
        return pa.table({"n": total, "_hoodie_is_deleted": newer["_hoodie_is_deleted"]})


class Fewer:
    """Answers one row too few."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """All but the last."""
        return newer.slice(1)


class Nothing:
    """Answers no table."""

    def merge(self, older: pa.Table, newer: pa.Table) -> object:
        """None."""
        return None


class Text:
    """Answers what is no number."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """Text in place of numbers."""
        return newer.set_column(0, "n", pa.array(["x"] * newer.num_rows))


@pytest.mark.parametrize("path", [f"{__name__}:Sum", f"{__name__}.Sum"])
def test_a_merger_is_found_by_its_class_path(path: str) -> None:
    assert isinstance(load_merger(path), Sum)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no.such.module:Class", "cannot be imported"),
        ("Class", "cannot be imported"),
        (f"{__name__}:Missing", "no class with a method merge"),
        (f"{__name__}:ROWS", "no class with a method merge"),
        ("collections:Counter", "no class with a method merge"),
    ],
)
def test_what_is_no_merger_is_refused(path: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        load_merger(path)


def test_the_answer_is_in_the_types_of_the_table_with_its_meta_columns() -> None:
    rows, is_kept = run_merger(f"{__name__}:Sum", ROWS, ROWS)
    assert (rows.schema, rows.column("n").to_pylist()) == (ROWS.schema, [2, 4])
    assert rows.column(RECORD_KEY).to_pylist() == ["a", "b"]
    assert not is_kept.any()


@pytest.mark.parametrize(
    ("name", "words"), [("Fewer", "1 rows for 2"), ("Nothing", "NoneType"), ("Text", "n as string")]
)
def test_an_answer_against_the_protocol_is_refused(name: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        run_merger(f"{__name__}:{name}", ROWS, ROWS)
