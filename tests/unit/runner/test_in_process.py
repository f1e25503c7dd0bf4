"""The runner of this process keeps the contract of all, and runs the attempts it is told to."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from pyhudi.errors import InvariantError
from pyhudi.runner.in_process import Batches, InProcessRunner
from pyhudi.runner.runner import SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity
from tests.support.runner_contract import CONTRACT, LETTERS, TASK, counted, spread, told


@pytest.mark.parametrize("rule", CONTRACT, ids=[rule.__name__ for rule in CONTRACT])
def test_this_process_keeps_the_contract(rule, tmp_path: Path) -> None:
    rule(InProcessRunner(), tmp_path)


def test_the_attempts_of_a_task_are_run_as_told_and_what_is_given_back_counts() -> None:
    attempts: list[TaskIdentity] = []

    def twice(function: TaskFunction, task: TaskIdentity, batches: Batches) -> Batches:
        attempts.extend([task, replace(task, attempt_id=100 + task.attempt_id)])
        first, _ = (tuple(function(each, iter(batches))) for each in attempts[-2:])
        return first

    rows = spread(InProcessRunner(run_task=twice), *LETTERS).map(counted, TASK)
    assert told(rows, "partition", "rows") == [(0, 4), (1, 3)]
    assert len({task.write_token for task in attempts}) == len(attempts) == 8
    assert len({task.stage_id for task in attempts}) == 2


def test_rows_of_another_runner_are_refused() -> None:
    rows = spread(InProcessRunner(), *LETTERS)
    with pytest.raises(InvariantError, match="rows of another runner: object"):
        rows.union(cast(SpreadRows, object()))
