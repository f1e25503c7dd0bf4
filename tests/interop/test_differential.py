"""The same random operations through real Hudi and through us leave the same rows.

Each seed stands for a table and 30 steps: writes, and services such as cleans, rollbacks and
restores. They go to three tables: one that real Hudi writes, one that we write, and one on which
both take turns. More seeds:

    PYHUDI_SEEDS=7,8,100-120 python -m pytest -m interop tests/interop/test_differential.py

PYHUDI_BEGIN=bootstrap lets each begin with a bootstrap whose table can; else one in ten does.
PYHUDI_KINDS=all draws further operations, indexes and merge rules. PYHUDI_SEEDS=sources draws one
seed of the engine's code: each change of it has a history of its own, which the same code draws
again.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.interop.differential_bootstraps import BOOTSTRAP
from tests.interop.differential_cases import Case, case_of
from tests.interop.differential_engines import HudiAtWork, OursAtWork
from tests.interop.differential_services import UNDOING
from tests.interop.differential_shapes import EVERY_KIND
from tests.interop.differential_steps import Turn
from tests.interop.differential_tables import Tables
from tests.interop.hudi import RealHudi
from tests.support.source_tree import ENGINE, seed_of

FIXED_SEEDS = (1, 7)
# Seeds that once failed, by what they found.
REGRESSIONS = {"a write of Hudi's that dies without a base file": 2496050980}
# Of each mode, beginning with a bootstrap, and of both types of table.
BOOTSTRAPPED_SEEDS, FEW_STEPS = (8, 31, 49, 9), 5
HUDI_LOOKS_EVERY = 6


def _chosen() -> Iterator[tuple[str, Case]]:
    if chosen := os.environ.get("PYHUDI_SEEDS"):
        for part in chosen.split(","):
            if part == "sources":
                yield part, case_of(seed_of(ENGINE))
                continue
            first, _, last = part.partition("-")
            yield from ((str(n), case_of(n)) for n in range(int(first), int(last or first) + 1))
        return
    yield from ((str(seed), case_of(seed)) for seed in FIXED_SEEDS)
    for seed in BOOTSTRAPPED_SEEDS:
        yield f"bootstrapped {seed}", case_of(seed, FEW_STEPS, is_bootstrapped=True)
    yield from ((name, case_of(seed)) for name, seed in REGRESSIONS.items())


# Hudi starts anew whenever the next case wants another release.
DRAWN = sorted(_chosen(), key=lambda each: each[1].version)
CASES = [pytest.param(case.version, case, id=name) for name, case in DRAWN]


def story(case: Case, steps: tuple[Turn, ...]) -> str:
    """How to see a failure again, and what led to it."""
    lines = [f"  {number}: {step}" for number, step in enumerate(steps)]
    kinds = "PYHUDI_KINDS=all " if EVERY_KIND else ""
    where = "tests/interop/test_differential.py"
    begin = f"PYHUDI_BEGIN={BOOTSTRAP} " if case.shape.bootstrap is not None else ""
    command = f"{begin}{kinds}PYHUDI_SEEDS={case.seed} python -m pytest -m interop {where}"
    head = f"seed {case.seed}, Hudi {case.version}; again: {command}"
    return "\n".join((head, str(case.shape), *lines))


def play(case: Case, tables: Tables) -> None:
    """Carry out a case and compare after every step.

    Every sixth, the last, and those that undo others are looked at by real Hudi too.
    """
    for number, step in enumerate(case.steps):
        told = story(case, case.steps[: number + 1])
        try:
            tables.take(step)
            is_due = number % HUDI_LOOKS_EVERY == 0 or step.operation in UNDOING
            is_last = number == len(case.steps) - 1
            changes = case.changes[number]
            differing = tables.disagreement(changes, is_hudi_looking=is_due or is_last)
        except Exception as error:
            error.add_note(told)
            raise
        assert not differing, f"after the last of these steps\n{differing}\n{told}"
    assert not (faults := tables.faults()), f"{faults}\n{story(case, case.steps)}"


@pytest.mark.parametrize(("hudi", "case"), CASES, indirect=["hudi"])
def test_random_operations_leave_the_rows_that_they_leave_in_hudi(
    case: Case, hudi: RealHudi, spark: SparkSession, tmp_path: Path
) -> None:
    play(case, Tables(case.shape, HudiAtWork(hudi), OursAtWork(spark), tmp_path))
