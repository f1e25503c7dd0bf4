"""Write rows into a Hudi table, or overwrite or delete partitions; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.spark.early import LateFunction, answer_before_spark
from pyhudi.spark.job import run_job

if __name__ == "__main__":
    function = LateFunction("pyhudi.spark.writing", "run_upsert")
    sys.exit(run_job(sys.argv[1:], UpsertRequest, function, answer_before_spark))
