"""Plan, run or take back a compaction of a merge-on-read table; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.spark.early import LateFunction
from pyhudi.spark.job import run_job

if __name__ == "__main__":
    function = LateFunction("pyhudi.spark.services.compaction", "run_compaction")
    sys.exit(run_job(sys.argv[1:], CompactionRequest, function))
