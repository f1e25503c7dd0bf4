"""Every rule of merging in every ordering case: the same rows as real Hudi, at the same commits."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pyhudi.errors import RequestError
from tests.interop import merge_cases as cases
from tests.interop import one_task, ours
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.rows import META_COLUMNS, Row, assert_same_rows

CASES_OF = {
    "0.15.0": [name for name, case in cases.CASES.items() if case.unlike is not None],
    "1.1.1": list(cases.CASES),
}


def by_commit(rows: list[Row], instants: list[str]) -> list[Row]:
    """The rows with the number of their commit in place of all meta columns."""
    found = []
    for row in rows:
        number = instants.index(row["_hoodie_commit_time"])
        own = {name: value for name, value in row.items() if name not in META_COLUMNS}
        found.append({**own, "commit": number})
    return found


@pytest.mark.parametrize("name", cases.CASES)
def test_both_make_the_same_of_every_case_and_continue_each_other(
    name: str, hudi: RealHudi, tmp_path: Path
) -> None:
    case = cases.CASES[name]
    if name not in CASES_OF[hudi.version]:
        pytest.skip("this release has no such rule, or another by the same name")
    options = {**cases.OPTIONS, **case.options}
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    batches = (cases.stored(), cases.incoming())
    at_mine = [one_task.upsert(mine, rows, options) for rows in batches]
    at_theirs = [
        hudi.write(theirs, rows, "upsert", options=options, mode=mode)
        for rows, mode in zip(batches, ("overwrite", "append"), strict=True)
    ]
    wanted = alike(by_commit(hudi.read(theirs), at_theirs), hudi, case)
    assert_same_rows(alike(by_commit(hudi.read(mine), at_mine), hudi, case), wanted)
    assert_same_rows(alike(by_commit(ours.read(theirs), at_theirs), hudi, case), wanted)

    at_mine.append(hudi.write(mine, cases.afterwards(), "upsert", options=options))
    at_theirs.append(one_task.upsert(theirs, cases.afterwards(), options))
    wanted = alike(by_commit(hudi.read(mine), at_mine), hudi, case)
    assert_same_rows(alike(by_commit(ours.read(theirs), at_theirs), hudi, case), wanted)
    assert_same_rows(alike(by_commit(hudi.read(theirs), at_theirs), hudi, case), wanted)


def alike(rows: list[Row], hudi: RealHudi, case: cases.Case) -> list[Row]:
    """The rows of which this release makes the same as we."""
    unlike = (case.unlike or ()) if hudi.version == "0.15.0" else case.unlike_11
    return [row for row in rows if not (unlike and row["id"].startswith(unlike))]


def one(key: str, ts: int | None, a: str | None, b: int | None) -> cases.Line:
    return (key, ts, a, b, None, "U", None)


WITHOUT_VALUE = {
    "new key": [one("n", None, "i", 2)],
    "stored value": [one("k", None, "i", None)],
    "stored null": [one("m", 5, None, 2)],
    "two rows": [one("k", 7, "i", None), one("k", None, None, 2)],
}
# Where we depart from 1.1.1, which takes a new key that it can never update, fails by accident
# where 0.15 replaces a stored row without value, and takes the row that arrived last.
DEPARTURES = {
    ("event time", "new key"),
    ("event time", "stored null"),
    ("overwrite", "two rows"),
}


@pytest.mark.parametrize("name", ["overwrite", "event time", "partial", "non-defaults", "dms"])
def test_rows_without_ordering_value_fare_as_in_hudi(name: str, hudi: RealHudi, tmp_path) -> None:
    options = {**cases.OPTIONS, **cases.CASES[name].options}
    table = tmp_path / "table"
    first = cases.rows([one("k", 5, "s", 1), one("m", None, "s", 1)])
    start = hudi.write(table, first, "bulk_insert", options=options, mode="overwrite")
    for what, lines in WITHOUT_VALUE.items():
        mine, theirs = tmp_path / "mine", tmp_path / "theirs"
        for copy in (mine, theirs):
            shutil.copytree(table, copy)
        outcome = attempt_ours(mine, cases.rows(lines), options, start)
        hudis = attempt_hudi(hudi, theirs, cases.rows(lines), options, start)
        if hudi.version == "0.15.0" and what != "stored null":
            # It refuses every row without value, for all rules.
            assert hudis == "refused"
        elif hudi.version == "1.1.1" and (name, what) in DEPARTURES:
            assert outcome != hudis
        else:
            assert outcome == hudis, what
        shutil.rmtree(mine)
        shutil.rmtree(theirs)


def attempt_ours(table: Path, rows: pa.Table, options: Mapping[str, str], start: str) -> Any:
    try:
        instant = one_task.upsert(table, rows, options)
    except RequestError:
        return "refused"
    return by_commit(ours.read(table), [start, instant])


def attempt_hudi(
    hudi: RealHudi, table: Path, rows: pa.Table, options: Mapping[str, str], start: str
) -> Any:
    try:
        instant = hudi.write(table, rows, "upsert", options=dict(options))
    except HudiError:
        return "refused"
    return by_commit(hudi.read(table), [start, instant])


@pytest.mark.parametrize("name", ["event time", "partial"])
def test_a_second_ordering_field_decides_as_in_hudi(name: str, hudi: RealHudi, tmp_path) -> None:
    if hudi.version == "0.15.0":
        pytest.skip("it knows one ordering field")
    two = {"hoodie.datasource.write.precombine.field": "ts,b"}
    options = {**cases.OPTIONS, **cases.CASES[name].options, **two}
    first = cases.rows([one(key, 5, "s", 5) for key in "abcd"])
    second = cases.rows(
        [one(key, *rest) for key, rest in zip("abcd", SECOND, strict=True)]
        + [one("n", 5, None, 2), one("n", 5, "y", 3), one("n", 5, "z", 1)]
    )
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    start = one_task.upsert(mine, first, options)
    at_mine = [start, hudi.write(mine, second, "upsert", options=options)]
    start = hudi.write(theirs, first, "upsert", options=options, mode="overwrite")
    at_theirs = [start, one_task.upsert(theirs, second, options)]
    wanted = by_commit(hudi.read(mine), at_mine)
    assert_same_rows(by_commit(hudi.read(theirs), at_theirs), wanted)
    assert_same_rows(by_commit(ours.read(theirs), at_theirs), wanted)


# Beside a stored 5 and 5.
SECOND = ((5, "i", 6), (5, None, 4), (6, None, 1), (4, "i", 9))


class Sum:
    """A merger: numbers add up, and a row without text deletes its record."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """The sums."""
        both = zip(older["b"].to_pylist(), newer["b"].to_pylist(), strict=True)
        sums = pa.array([(left or 0) + (right or 0) for left, right in both], pa.int32())
        gone = newer["a"].is_null()
        columns = {name: newer[name] for name in newer.column_names}
        return pa.table({**columns, "b": sums, "_hoodie_is_deleted": gone})


def test_hudi_reads_a_table_with_a_merger_in_python_and_will_not_merge_into_it(
    hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    table = tmp_path / "table"
    merger = {"pyhudi.merge.custom.merger": f"{__name__}:Sum", **cases.BY_TS}
    options = {**cases.OPTIONS, **merger}
    batches = (
        [one("k", 1, "s", 1), one("l", 1, "s", 1), one("k", 0, "t", 2)],
        [one("k", 1, "u", 4), one("l", 1, None, 0), one("k", 1, "v", 8)],
    )
    for lines in batches:
        ours.write(spark, table, cases.rows(lines), "upsert", options)
    assert [(row["id"], row["a"], row["b"]) for row in hudi.read(table)] == [("k", "v", 15)]
    del options["pyhudi.merge.custom.merger"]
    with pytest.raises(HudiError, match=r"pyhudi\.merge\.custom\.Merger"):
        hudi.write(table, cases.rows(batches[0]), "upsert", options=options)
    assert [row["b"] for row in ours.read(table)] == [15]
