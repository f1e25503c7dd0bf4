"""Spark's runner keeps the contract of all."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pyhudi.errors import InvariantError
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.spark.tasks.runner import SparkRunner
from tests.support.runner_contract import CONTRACT, LETTERS, spread

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("rule", CONTRACT, ids=[rule.__name__ for rule in CONTRACT])
def test_spark_keeps_the_contract(spark: SparkSession, rule, tmp_path: Path) -> None:
    rule(SparkRunner(session=spark), tmp_path)


def test_rows_of_another_runner_are_refused(spark: SparkSession) -> None:
    rows = spread(SparkRunner(session=spark), *LETTERS)
    with pytest.raises(InvariantError, match="rows of another runner: InProcessRows"):
        rows.union(spread(InProcessRunner(), *LETTERS))
