"""What the pages show of data frames, run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
from tests.support.snippets import Snippet, snippets

pytestmark = pytest.mark.spark

FLIGHTS = """
    SELECT 'UA' carrier, 1545 flight, 'EWR' origin, timestamp '2013-01-01 05:00:00' time_hour,
        timestamp '2013-01-01 09:00:00' updated_at, 11D arr_delay
"""


@pytest.mark.parametrize("snippet", snippets("python", runner="spark"))
def test_a_block_that_takes_a_session_runs(
    snippet: Snippet, spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.sql(FLIGHTS)
    names = snippet.run(tmp_path / "flights", spark=spark, frame=frame)
    assert names["frame"].count() == pyhudi.read_table(str(tmp_path / "flights")).num_rows == 1
