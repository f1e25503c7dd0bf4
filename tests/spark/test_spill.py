"""Bytes that Spark spilled are those of the jobs asked about."""

import pytest
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name every Spark user knows

from pyhudi.spark.tasks.spill import job_group, spilled_bytes

pytestmark = pytest.mark.spark

_THRESHOLDS = {
    "spark.sql.windowExec.buffer.in.memory.threshold": "600",
    "spark.sql.windowExec.buffer.spill.threshold": "600",
}


def _sum_within_groups(spark: SparkSession) -> None:
    whole_group = Window.partitionBy(F.col("id") % 2)
    spark.range(2000).withColumn("total", F.sum("id").over(whole_group)).collect()


def test_what_a_job_spilled_is_told_of_its_group_alone(spark: SparkSession) -> None:
    """A window's buffer that holds 600 rows spills; one of the usual size does not."""
    with job_group("in memory") as calm:
        _sum_within_groups(spark)
    for name, value in _THRESHOLDS.items():
        spark.conf.set(name, value)
    try:
        with job_group("spilling") as spilling:
            _sum_within_groups(spark)
    finally:
        for name in _THRESHOLDS:
            spark.conf.unset(name)
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    assert spilled_bytes(spilling) > 0
    assert spilled_bytes(calm) == 0
