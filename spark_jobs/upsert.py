"""Write rows into a Hudi table, or overwrite or delete partitions; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.spark.job import run_job
from pyhudi.spark.writing import answer_before_spark, run_upsert

if __name__ == "__main__":
    sys.exit(run_job(sys.argv[1:], UpsertRequest, run_upsert, answer_before_spark))
