"""Make a Hudi table of a dataset of Parquet or ORC files; ``--help`` lists the flags.

Runs with ``spark-submit`` or plain ``python``, from a checkout and from the installed wheel.
"""

from __future__ import annotations

import sys

from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.spark.early import LateFunction
from pyhudi.spark.job import run_job

if __name__ == "__main__":
    function = LateFunction("pyhudi.spark.services.bootstrap", "run_bootstrap")
    sys.exit(run_job(sys.argv[1:], BootstrapRequest, function))
