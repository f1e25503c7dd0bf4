"""The same random operations through real Hudi and through us leave the same rows.

Each seed stands for a table and 30 operations. They go to three tables: one that real Hudi
writes, one that we write, and one on which both take turns. More seeds:

    PYHUDI_SEEDS=7,8,100-120 python -m pytest -m interop tests/interop/test_differential.py

PYHUDI_KINDS=all draws further operations, indexes and merge rules. Without PYHUDI_SEEDS one seed
is made of the engine's code: each change of it draws a history of its own, which the same code
draws again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.interop import ours
from tests.interop.differential_cases import Case, Step, case_of
from tests.interop.differential_shapes import EVERY_KIND
from tests.interop.hudi import RealHudi
from tests.interop.rows import Row, difference, without
from tests.support.source_tree import ENGINE, seed_of

FIXED_SEEDS = (1, 7)
# Seeds that once failed, by what they found.
REGRESSIONS: dict[str, int] = {}
VOLATILE = ("_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name")
HUDI_LOOKS_EVERY = 6


def _chosen() -> Iterator[tuple[str, int]]:
    if chosen := os.environ.get("PYHUDI_SEEDS"):
        for part in chosen.split(","):
            first, _, last = part.partition("-")
            yield from ((str(n), n) for n in range(int(first), int(last or first) + 1))
        return
    yield from ((str(seed), seed) for seed in FIXED_SEEDS)
    yield from REGRESSIONS.items()
    yield "of_the_sources", seed_of(ENGINE)


CASES = [pytest.param(c.version, c, id=name) for name, s in _chosen() for c in (case_of(s),)]


class Tables:
    """The three tables of a case, and how they are written and compared."""

    def __init__(self, case: Case, hudi: RealHudi, spark: SparkSession, folder: Path) -> None:
        self.case, self.hudi, self.spark = case, hudi, spark
        self.theirs, self.mine, self.shared = (folder / n for n in ("theirs", "mine", "shared"))

    def write(self, step: Step) -> None:
        """Carry out one operation on each table, real Hudi and we at the same time."""
        with ThreadPoolExecutor(1) as aside:
            theirs = aside.submit(self._by_hudi, self.theirs, step)
            self._by_us(self.mine, step)
            theirs.result()
        (self._by_hudi if step.by == "hudi" else self._by_us)(self.shared, step)

    def _by_hudi(self, table: Path, step: Step) -> None:
        mode = "append" if table.exists() else "overwrite"
        options = self._options(table, step)
        self.hudi.write(table, step.rows, step.operation, options=options, mode=mode)

    def _by_us(self, table: Path, step: Step) -> None:
        ours.write(self.spark, table, step.rows, step.operation, self._options(table, step))

    def _options(self, table: Path, step: Step) -> dict[str, str]:
        shape = self.case.shape
        return {
            **({} if shape.is_forgetful and table.exists() else shape.creation),
            **shape.always,
            **step.options,
        }

    def disagreement(self, *, is_hudi_looking: bool) -> str:
        """Which table has other rows than the one that real Hudi wrote, or is read otherwise."""
        wanted = stable(ours.read(self.theirs))
        found = {
            "ours, read by us": ours.read(self.mine),
            "the shared table, read by us": ours.read(self.shared),
        }
        if is_hudi_looking:
            found["Hudi's own, read by Hudi"] = self.hudi.read(self.theirs)
            found["ours, read by Hudi"] = self.hudi.read(self.mine)
            found["the shared table, read by Hudi"] = self.hudi.read(self.shared)
        told = {name: difference(stable(rows), wanted) for name, rows in found.items()}
        return "\n".join(f"{name}: {text}" for name, text in told.items() if text)

    def faults(self) -> str:
        """What Hudi finds wrong in the files and commits of the tables that we wrote to."""
        tables = {"ours": self.mine, "the shared table": self.shared}
        told = {
            name: self.hudi.failures(table, exercise=False, allow_duplicates=True)
            for name, table in tables.items()
        }
        return "\n".join(f"{name}: {text}" for name, text in told.items() if text)


def stable(rows: list[Row]) -> list[Row]:
    """The rows without what differs between two writes of the same."""
    return without(rows, VOLATILE)


def story(case: Case, steps: tuple[Step, ...]) -> str:
    """How to see a failure again, and what led to it."""
    lines = [f"  {number}: {step}" for number, step in enumerate(steps)]
    kinds = "PYHUDI_KINDS=all " if EVERY_KIND else ""
    where = "tests/interop/test_differential.py"
    command = f"{kinds}PYHUDI_SEEDS={case.seed} python -m pytest -m interop {where}"
    head = f"seed {case.seed}, Hudi {case.version}; again: {command}"
    return "\n".join((head, str(case.shape), *lines))


def play(case: Case, tables: Tables) -> None:
    """Carry out a case and compare after every step.

    The last step and some between are looked at by real Hudi too.
    """
    for number, step in enumerate(case.steps):
        told = story(case, case.steps[: number + 1])
        try:
            tables.write(step)
            is_last = number == len(case.steps) - 1
            is_hudi_looking = is_last or number % HUDI_LOOKS_EVERY == 0
            differing = tables.disagreement(is_hudi_looking=is_hudi_looking)
        except Exception as error:
            error.add_note(told)
            raise
        assert not differing, f"after the last of these steps\n{differing}\n{told}"
    assert not (faults := tables.faults()), f"{faults}\n{story(case, case.steps)}"


@pytest.mark.parametrize(("hudi", "case"), CASES, indirect=["hudi"])
def test_random_operations_leave_the_rows_that_they_leave_in_hudi(
    case: Case, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    play(case, Tables(case, hudi, spark, tmp_path))
