"""Hudi's side of `cold.py`: `spark-submit cold_hudi.py write|read TABLE OPTIONS [SOURCE]`."""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession


def main() -> None:
    """Write the rows of a file with the options, or print the table's answer."""
    action, table, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    spark = SparkSession.builder.appName("hudi cold").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if action == "write":
        rows = spark.read.parquet(sys.argv[4])
        rows.write.format("hudi").options(**options).mode("append").save(table)
    else:
        rows = spark.read.format("hudi").load(table)
        found = rows.selectExpr("count(*)", "sum(distance)", "sum(dep_delay)").first()
        print(json.dumps({"answer": [int(value) for value in found]}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
