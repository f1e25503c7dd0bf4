"""A driver of Spark among the writers."""

from __future__ import annotations

from pyspark.sql import SparkSession

import pyhudi.spark
from pyhudi.jobs.result import JobResult
from tests.rivals.orders import Order
from tests.rivals.plan import Plan
from tests.rivals.writer import Write, rows_of
from tests.support.spark import SHORT_LIVED_JVM, prepare_environment


def spark_write(plan: Plan) -> Write:
    """Writes by a session of this process."""
    prepare_environment()
    settings = {
        "spark.driver.memory": "600m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC {SHORT_LIVED_JVM}",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.warehouse.dir": f"{plan.folder}/warehouse",
        "spark.local.dir": f"{plan.folder}/spark",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[1]").appName("rival")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def write(order: Order, options: dict[str, str]) -> JobResult:
        table = rows_of(order)
        if table is None:
            frame = session.createDataFrame([], "id string, part string")
        else:
            rows = [tuple(row.values()) for row in table.to_pylist()]
            types = {"ts": "bigint"}
            schema = ", ".join(f"{name} {types.get(name, 'string')}" for name in table.column_names)
            frame = session.createDataFrame(rows, schema)
        return pyhudi.spark.write(
            frame, plan.uri, options=options, storage_options=dict(plan.storage_options) or None
        )

    return write
